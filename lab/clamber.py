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

from .results import JsonFile, Seed, Table, report

_HEADS = ["kind", "questions", "ambiguous", "of these called ambiguous", "of the others called ambiguous", "accuracy"]
_KINDS = {"NK": "unfamiliar", "ICL": "contradiction", "polysemy": "lexical", "co-reference": "semantic", "whom": "who"}
_SHOWN = (*_KINDS.values(), "what", "when", "where")


def main(
    path: Annotated[Path, typer.Argument(help="clamber_benchmark.jsonl of github.com/zt991211/CLAMBER.")],
    count: Annotated[int, typer.Option(help="Questions, drawn with --seed.")] = 600,
    lm: Annotated[str, typer.Option(help="What types the questions.")] = "polyqa/extractive",
    seed: Seed = 0,
    json_file: JsonFile = None,
) -> None:
    """Type questions, and table by kind how many are called ambiguous."""
    lines = [json.loads(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    lines = random.Random(seed).sample(lines, min(count, len(lines)))
    typed = dspy.Predict(TypeAmbiguity)
    with dspy.context(lm=language_model(lm)):
        called = [AmbiguityType.NONE not in typed(question=line["question"]).ambiguity_types for line in lines]
    pairs = [(one, bool(line["require_clarification"])) for one, line in zip(called, lines, strict=True)]
    kinds = [_KINDS.get(line["subclass"], line["subclass"]) for line in lines]
    rows = [_row(name, [pair for pair, kind in zip(pairs, kinds, strict=True) if kind == name]) for name in _SHOWN]
    about = f"CLAMBER, {len(lines)} of its questions; {lm}; the call that types a question, without passages"
    report(about, Table(heads=_HEADS, rows=[*rows, _row("all", pairs)]), json_file)


def _row(name: str, pairs: Sequence[tuple[bool, bool]]) -> list[str]:
    yes, no = ([called for called, ambiguous in pairs if ambiguous is wanted] for wanted in (True, False))
    right = [called == ambiguous for called, ambiguous in pairs]
    return [name, str(len(pairs)), str(len(yes)), *map(_percent, (yes, no, right))]


def _percent(some: Sequence[bool]) -> str:
    return f"{sum(some) / len(some):.0%}" if some else "–"


if __name__ == "__main__":
    typer.run(main)
