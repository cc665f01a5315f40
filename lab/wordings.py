"""What each part of a prompt is worth to a small language model, one change at a time.

python -m lab.wordings --lm local --record wordings.jsonl.gz [--limit N] [--json FILE]

The call is that of `polyqa.programs.spanwise` which asks whether a question can mean a finding. A wording is good if
the model says Yes with a higher probability to right findings than to wrong ones of the training questions:

    AUC = P(p(Yes | right) > p(Yes | wrong)) + ½ P(equal)

with 0.5 for a wording that tells nothing. A finding is right if its answer says the same as that of a gold reading.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import dspy
import numpy as np
import typer
from numpy.typing import NDArray

from polyqa import LMSettings, Models, load
from polyqa.evaluation.loading import load_questions
from polyqa.lm.probabilities import probability_of_yes
from polyqa.lm.recorder import recording
from polyqa.metrics.agreement import agree
from polyqa.programs.finding_examples import finding_demos
from polyqa.programs.spanwise import Finding, Spanwise
from polyqa.replies import YesNo
from polyqa.signatures import VerifyFinding

from .results import Index, JsonFile, Questions, Seed, Table, report

_RESAMPLES = 2_000
_SHIPPED = "as shipped"
Inputs = Callable[[str, Finding], dict[str, str]]
Demo = dict[str, Any]


@dataclass(frozen=True)
class Wording:
    """One way to ask: a signature with one output, Yes or No; what is shown; and the fields of a call."""

    signature: type[dspy.Signature]
    demos: Sequence[Demo]
    inputs: Inputs


def _as_shipped(question: str, finding: Finding) -> dict[str, str]:
    return {"question": question, "finding": finding.render()}


def _without(part: int) -> tuple[list[Demo], Inputs]:
    """Return demos and inputs whose findings lack a part: 0 the title, 1 the sentence."""

    def left(finding: str) -> str:
        parts = finding.split(" | ")
        return " | ".join([*parts[:part], *parts[part + 1 :]])

    demos = [demo | {"finding": left(demo["finding"])} for demo in finding_demos(VerifyFinding)]
    return demos, lambda question, finding: {"question": question, "finding": left(finding.render())}


def _whole_passage(question: str, finding: Finding) -> dict[str, str]:
    text = " ".join(finding.passage.text.split())
    return {"question": question, "finding": " | ".join((finding.passage.title, text, finding.answer))}


def wordings() -> dict[str, Wording]:
    """Return the wordings by what they change."""
    demos = finding_demos(VerifyFinding)
    finding = VerifyFinding.input_fields["finding"]
    statement = dspy.Signature(
        {
            "query": (str, dspy.InputField(desc="a question that may be ambiguous")),
            "statement": (str, dspy.InputField(desc="title | sentence | answer")),
            "correct": (YesNo, dspy.OutputField(desc="whether the statement answers the query")),
        },
        VerifyFinding.instructions.replace("finding", "statement"),
    )
    renamed = [{"query": one["question"], "statement": one["finding"], "correct": one["holds"]} for one in demos]
    return {
        _SHIPPED: Wording(VerifyFinding, demos, _as_shipped),
        "no demos": Wording(VerifyFinding, [], _as_shipped),
        "three demos of ten": Wording(VerifyFinding, demos[:3], _as_shipped),
        "six words of instructions": Wording(
            VerifyFinding.with_instructions("Does the finding answer the question?"), demos, _as_shipped
        ),
        "finding before question": Wording(
            VerifyFinding.delete("finding").prepend("finding", finding, str), demos, _as_shipped
        ),
        "other names of fields": Wording(
            statement, renamed, lambda question, one: {"query": question, "statement": one.render()}
        ),
        "no title": Wording(VerifyFinding, *_without(0)),
        "no sentence": Wording(VerifyFinding, *_without(1)),
        "the whole passage, not its sentence": Wording(VerifyFinding, demos, _whole_passage),
    }


def areas(probabilities: Sequence[NDArray[np.float64]], right: Sequence[NDArray[np.bool_]]) -> NDArray[np.float64]:
    """Return the AUC of all findings, and after it those of samples of questions, drawn with a seed.

    A sample without right or without wrong findings is left out by all wordings alike, so differences stay paired.

    >>> float(areas([np.array([0.9, 0.1])], [np.array([True, False])])[0])
    1.0
    """
    chance = np.random.default_rng(0)
    draws = chance.integers(len(right), size=(_RESAMPLES, len(right)))
    times = np.stack([np.bincount(drawn, minlength=len(right)) for drawn in [np.arange(len(right)), *draws]])
    better = np.array(
        [
            [_wins(some[own], others[~their]) for others, their in zip(probabilities, right, strict=True)]
            for some, own in zip(probabilities, right, strict=True)
        ]
    )
    pairs = (times @ [one.sum() for one in right]) * (times @ [(~one).sum() for one in right])
    return np.einsum("ri,ij,rj->r", times, better, times)[pairs > 0] / pairs[pairs > 0]


def _wins(some: NDArray[np.float64], others: NDArray[np.float64]) -> float:
    """Return how often one of some numbers is above one of others; equal ones count half."""
    return float(np.sum(some[:, None] > others) + 0.5 * np.sum(some[:, None] == others))


def asked(
    program: Spanwise, wording: Wording, lm: dspy.LM, findings: Mapping[str, Sequence[Finding]]
) -> tuple[list[NDArray[np.float64]], float]:
    """Return how likely the model says Yes to the findings of each question, and the tokens of a prompt."""
    predictor = program.predictor(wording.signature, probabilities=True)
    predictor.demos = list(wording.demos)
    (output,) = wording.signature.output_fields
    said = []
    with dspy.context(lm=lm), recording(lm, program) as recorder:
        for question, own in findings.items():
            replies = [predictor(**wording.inputs(question, finding)) for finding in own]
            said.append(np.array([probability_of_yes(reply, reply[output]) for reply in replies]))
    return said, recorder.input_tokens / max(1, sum(map(len, said)))


def interval(values: NDArray[np.float64]) -> str:
    """Return the first value and the interval of the others, in percent."""
    low, high = np.percentile(values[1:], [2.5, 97.5])
    return f"{100 * values[0]:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def main(
    lm: Annotated[str, typer.Option(help="The language model.")] = "local",
    record: Annotated[Path | None, typer.Option(help="Where its replies are recorded.")] = None,
    questions: Questions = "homonyms/train",
    index: Index = "homonyms",
    limit: Annotated[int, typer.Option(help="How many questions are drawn.")] = 14,
    seed: Seed = 0,
    json_file: JsonFile = None,
) -> None:
    """Ask about the same findings in every wording, and compare."""
    model = Models(lm, settings=LMSettings(record=record)).answering()
    program = load("spanwise", index=index)
    assert isinstance(program, Spanwise)
    drawn = load_questions(questions, limit=limit, seed=seed)
    findings = {one.question: program.mark(one.question, program.retrieve(one.question)) for one in drawn}
    findings = {question: own for question, own in findings.items() if own}
    gold = {one.question: one.answers for one in drawn}
    right = [
        np.array([any(agree(finding.answer, list(answers)) for answers in gold[question]) for finding in own])
        for question, own in findings.items()
    ]
    rows, shipped = [], np.empty(0)
    for name, wording in wordings().items():
        probabilities, tokens = asked(program, wording, model, findings)
        area = areas(probabilities, right)
        if name == _SHIPPED:
            shipped = area
        yes = float(np.mean(np.concatenate(probabilities) >= 0.5))
        against = "–" if name == _SHIPPED else interval(area - shipped)
        rows.append([name, interval(area), against, f"{100 * yes:.0f}", f"{tokens:,.0f}"])
        typer.echo(" | ".join(rows[-1]), err=True)
    labels = np.concatenate(right)
    about = (
        f"{len(labels)} findings of {len(findings)} training questions ({questions}), {labels.sum()} right; "
        f"{model.model}, index {index}, seed {seed}; intervals over questions"
    )
    report(about, Table(heads=["wording", "AUC", "against shipped", "Yes, %", "tokens in"], rows=rows), json_file)


if __name__ == "__main__":
    typer.run(main)
