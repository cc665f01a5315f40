"""How often the typing of a question calls it ambiguous rightly, by CLAMBER's kinds of ambiguity.

python -m lab.clamber clamber_benchmark.jsonl [--count 600] [--lm NAME] [--json lab/results/clamber.json]

CLAMBER (Zhang et al., 2024, https://arxiv.org/abs/2405.12063) has questions of people without passages, so only the
first call of `auto` and `diva` is measured, which sees no passage either. `auto` by default decides by the passages.
"""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import dspy
import typer

from polyqa.base.values import AmbiguityType
from polyqa.language_models import language_model
from polyqa.signatures import TypeAmbiguity

from .results import JsonFile, Measured, Table, command_line, report, today

KINDS = {
    "NK": "unfamiliar",
    "ICL": "contradiction",
    "polysemy": "lexical",
    "co-reference": "semantic",
    "whom": "who",
    "what": "what",
    "when": "when",
    "where": "where",
}


def main(
    path: Annotated[Path, typer.Argument(help="clamber_benchmark.jsonl of github.com/zt991211/CLAMBER.")],
    count: Annotated[int, typer.Option(help="Questions, drawn with --seed.")] = 600,
    lm: Annotated[str, typer.Option(help="What types the questions.")] = "polyqa/extractive",
    seed: Annotated[int, typer.Option(help="Of what is drawn.")] = 0,
    json_file: JsonFile = None,
) -> None:
    """Type questions, and table by kind how many are called ambiguous."""
    rows = [json.loads(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    rows = random.Random(seed).sample(rows, min(count, len(rows)))
    typing = dspy.Predict(TypeAmbiguity)
    with dspy.context(lm=language_model(lm)):
        called = [AmbiguityType.NONE not in typing(question=row["question"]).ambiguity_types for row in rows]
    kinds = [KINDS.get(row["subclass"], row["subclass"]) for row in rows]
    ambiguous = [bool(row["require_clarification"]) for row in rows]
    table = [
        _row(kind, [(c, a) for c, a, k in zip(called, ambiguous, kinds, strict=True) if k == kind])
        for kind in dict.fromkeys(KINDS.values())
    ]
    table.append(_row("all", list(zip(called, ambiguous, strict=True))))
    heads = [
        "kind",
        "questions",
        "ambiguous",
        "of these called ambiguous",
        "of the others called ambiguous",
        "accuracy",
    ]
    command = command_line("lab.clamber", {"": path.name, "--count": count, "--lm": lm, "--seed": seed})
    about = f"CLAMBER, {len(rows)} of its questions; {lm}; the call that types a question, without passages; {today()}."
    report(Measured(about=about, command=command, tables={"": Table(heads=heads, rows=table)}), json_file)


def _row(name: str, pairs: Sequence[tuple[bool, bool]]) -> list[str]:
    yes, no = (
        [called for called, ambiguous in pairs if ambiguous],
        [called for called, ambiguous in pairs if not ambiguous],
    )
    right = sum(called == ambiguous for called, ambiguous in pairs)
    return [
        name,
        str(len(pairs)),
        str(len(yes)),
        _percent(sum(yes), len(yes)),
        _percent(sum(no), len(no)),
        _percent(right, len(pairs)),
    ]


def _percent(some: int, of: int) -> str:
    return f"{some / of:.0%}" if of else "–"


if __name__ == "__main__":
    typer.run(main)
