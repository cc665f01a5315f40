"""What `polyqa adapt` makes of corpora.

python -m lab.adapting --corpus corpus.jsonl [--corpus …] [--questions FILE …] [--program rac] [--seed 0] [--json FILE]

The program is adapted to each corpus with no questions given, or to one corpus with each file of questions of people.
Each takes some minutes; what is made is kept in ``--work``, and the same command goes on.
"""

import time
from pathlib import Path
from typing import Annotated

import typer

from polyqa.adapting import Adapted, adapt
from polyqa.base.errors import PolyqaError
from polyqa.compiling import Budget
from polyqa.evaluation.comparison import compare_runs

from .results import JsonFile, Program, Seed, Table, report

_HEADS = ["corpus", "passages", "made", "plain", "ambiguous", "held out", "min", "DR", "F1 ans"]


def cells(label: str, done: Adapted, minutes: float) -> list[str]:
    """Return the row of a corpus: passages, questions, minutes, DR and F1 before and after with the difference."""
    every = [*done.train, *done.dev, *done.held_out]
    ambiguous = sum(len(question.readings) > 1 for question in every)
    made = done.counts.questions if done.counts else 0
    metrics = compare_runs(*done.test_runs, headline=done.measure).metrics
    found = (metrics.get("dr"), metrics["f1_answer"])  # DR needs long answers
    numbers = (len(done.index), made, len(every) - ambiguous, ambiguous, len(done.held_out))
    changes = ("–" if one is None else f"{one.a:.1f} → {one.b:.1f}, {one}" for one in found)
    return [label, *(f"{number:,}" for number in numbers), f"{minutes:.1f}", *changes]


def main(
    corpus: Annotated[list[Path], typer.Option(help="As for polyqa adapt; repeat for more.")],
    questions: Annotated[list[Path] | None, typer.Option(help="Questions of people; repeat for more.")] = None,
    program: Program = "rac",
    seed: Seed = 0,
    work: Annotated[Path, typer.Option(help="Where artifacts are kept.")] = Path("runs/adapting"),
    json_file: JsonFile = None,
) -> None:
    """Adapt a program to corpora, or to one corpus with questions of people."""
    if questions and len(corpus) > 1:
        raise PolyqaError("Give one --corpus with --questions, or several without.")
    rows, verdicts, lm = [], [], ""
    for place, asked in [(corpus[0], one) for one in questions] if questions else [(one, None) for one in corpus]:
        label, begun = (asked or place).stem, time.monotonic()
        done = adapt(place, program, out=work / label, questions=asked, budget=Budget(seed=seed))
        assert done is not None
        rows.append(cells(label, done, (time.monotonic() - begun) / 60))
        verdicts.append(f"- {label}: {done.verdict}")
        lm = done.made.card.lm
        typer.echo(verdicts[-1], err=True)
    about = f"`{program}`, recipe knn, {lm}, embedded reader"
    report(about, Table(heads=_HEADS, rows=rows), json_file, notes="\n".join(verdicts))


if __name__ == "__main__":
    typer.run(main)
