"""What the parts of a prompt are worth to a language model on this machine: one thing is changed at a time.

python -m lab.wordings --record wordings.jsonl.gz [--work FOLDER] [--json lab/results/wordings.json]

`rac` answers training questions, which no demo that is shown is of. Each row differs from the first in one thing.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import dspy
import numpy as np
import typer

from polyqa import Models, evaluate, language_model, load
from polyqa.base.text import p_text
from polyqa.base.values import Passage
from polyqa.evaluation.comparison import compare_runs
from polyqa.evaluation.loading import load_questions
from polyqa.evaluation.runs import summarize
from polyqa.evaluation.tables import amount_text
from polyqa.language_models import shared_encoder, shared_reader
from polyqa.metrics.text import sentences
from polyqa.optimizers.labels.demos import label_demos
from polyqa.programs.knn import KNNPredict

from .local import readings_cells
from .results import JsonFile, Seed, Table, report

_METRICS = ("length", "calls", "input_tokens", "output_tokens")
_HEADS = ["prompt", "DR", "gain", "p", "readings right, %", "readings found, %", "LEN", "calls", "tokens in", "out"]


def _clarify(program: Any) -> KNNPredict:
    predictor: KNNPredict = program.clarify
    return predictor


def _first_sentence(program: Any) -> None:
    predictor = _clarify(program)
    predictor.signature = predictor.signature.with_instructions(predictor.signature.instructions.split("\n")[0])


def _question_first(program: Any) -> None:
    predictor = _clarify(program)
    question = predictor.signature.input_fields["question"]
    predictor.signature = predictor.signature.delete("question").prepend("question", question, str)


def _sentences_that_count(program: Any) -> None:
    """Show of each passage its first sentence and those in which the reader marks something."""
    retrieve, reader = program.retrieve, shared_reader()

    def shortened(question: str, *others: Any, **settings: Any) -> list[Passage]:
        passages: list[Passage] = retrieve(question, *others, **settings)
        readings = reader.read([(question, passage.text) for passage in passages], keep=3)
        short = []
        for passage, reading in zip(passages, readings, strict=True):
            starts = {0, *(span.start for span in reading.spans if span.text)}
            parts = [one.text for one in sentences(passage.text) if any(one.start <= at < one.end for at in starts)]
            short.append(passage.model_copy(update={"text": " ".join(parts)}))
        return short

    program.retrieve = shortened


def _with_demos(demos: Sequence[dspy.Example], k: int | None = None, brief: bool = False) -> Callable[[Any], None]:
    def change(program: Any) -> None:
        predictor = _clarify(program)
        predictor.demos, predictor.encoder, predictor.brief = list(demos), shared_encoder(), brief
        predictor.set_k(k)

    return change


def main(
    record: Annotated[Path, typer.Option(help="Of the replies; those that it has are not asked for again.")],
    work: Annotated[Path, typer.Option(help="Folder of the runs.")] = Path("runs/wordings"),
    limit: Annotated[int, typer.Option(help="How many training questions are asked.", min=2)] = 12,
    seed: Seed = 0,
    json: JsonFile = None,
) -> None:
    """Measure."""
    training = load_questions("homonyms/train")
    fixed = list(load("rac-homonyms-local").clarify.demos)
    shown = {demo["question"] for demo in fixed}
    several = [one for one in training if len(one.readings) > 1 and one.question not in shown]
    drawn = np.random.default_rng(seed).choice(len(several), limit, replace=False)
    asked = [several[at] for at in sorted(drawn)]
    others = [one for one in training if one not in asked]
    pool = label_demos(load("rac"), others)["clarify"]
    ways: dict[str, tuple[dict[str, Any], Callable[[Any], None]]] = {
        "as shipped, without demos": ({}, lambda program: None),
        "of the instructions the first sentence": ({}, _first_sentence),
        "the question before the passages": ({}, _question_first),
        "of the passages the sentences that count": ({}, _sentences_that_count),
        "three passages": ({"passages": 3}, lambda program: None),
        "one task a call: readings, then the answer": ({"preset": "paper"}, lambda program: None),
        "five fixed demos": ({}, _with_demos(fixed)),
        "five nearest demos": ({}, _with_demos(pool, 5)),
        "five nearest demos, one with passages": ({}, _with_demos(pool, 5, brief=True)),
    }
    lm = language_model("local", record=record, temperature=0.0, slots=1)
    first, rows = None, []
    for at, (title, (settings, change)) in enumerate(ways.items()):
        program = load("rac", **settings)
        change(program)
        run = evaluate(program, asked, models=Models(lm=lm, judge=None), folder=work / str(at))
        first = first or run
        rows.append(_row(title, first, run, asked))
        typer.echo(" | ".join(rows[-1]), err=True)
    report(f"rac with {lm.model}, {limit} ambiguous training questions", Table(heads=_HEADS, rows=rows), json)


def _row(title: str, first: Any, run: Any, asked: Sequence[Any]) -> list[str]:
    summary = summarize(run.records)
    cells = [title, str(summary["dr"])]
    difference = None if run is first else compare_runs(first, run, headline="dr").metrics["dr"]
    cells += ["–", "–"] if difference is None else [str(difference), p_text(difference.p)]
    cells += readings_cells(run, {question.id: question for question in asked})
    return cells + [amount_text(name, summary[name].value) for name in _METRICS]


if __name__ == "__main__":
    typer.run(main)
