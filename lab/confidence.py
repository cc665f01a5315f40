"""How sure a reading is, fitted: from what the embedded reader makes of its passage to the share of right readings.

python -m lab.confidence [--json FILE]

Programs answer the training questions of `homonyms`; a reading is right if its passage and its answer are those of a
gold reading. A logistic curve is fitted to the margins (`polyqa.web.confidence.margins`), and looked at on the
development questions: in fifths by margin, how many are right, and how many it said.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from sklearn.linear_model import LogisticRegression

from polyqa.asking import ask
from polyqa.base.values import Interpretation
from polyqa.evaluation.loading import load_questions
from polyqa.evaluation.tables import markdown_table
from polyqa.language_models import shared_reader
from polyqa.loading import load
from polyqa.metrics.gold import Question
from polyqa.metrics.text import normalize_answer
from polyqa.web.confidence import margins

from .results import Part, keep, today

_FIFTHS = 5
_PROGRAMS = ("rac", "verdict")


class Fifth(Part):
    """Readings of like margin: how many, the share that is right, the share that the curve says."""

    n: int
    right: float
    said: float


class Confidence(Part):
    """A fit, with the command that repeats it."""

    command: str
    date: str
    lm: str
    reader: str
    programs: list[str]
    train: str
    dev: str
    slope: float
    offset: float
    fifths: list[Fifth]

    def table(self) -> str:
        """Return what the curve says on dev, the least sure fifth first."""
        heads = ["readings of dev, the least sure first", "said", "right"]
        return markdown_table(heads, [[str(one.n), f"{one.said:.0%}", f"{one.right:.0%}"] for one in self.fifths])


def is_right(reading: Interpretation, question: Question) -> bool:
    """Return whether passage and answer are those of a gold reading."""
    said = normalize_answer(reading.answer)
    golds = (
        normalize_answer(text) for gold in question.readings if gold.pid == reading.pid for text in gold.short_answers
    )
    return bool(said) and any(gold and (gold in said or said in gold) for gold in golds)


def _samples(programs: Sequence[str], questions: Sequence[Question], reader: str) -> Iterator[tuple[float, bool]]:
    for name in programs:
        program = load(name)
        for question in track(questions, name, console=Console(stderr=True)):
            found = ask(question.question, program=program)
            made = margins(found.interpretations, found.passages, shared_reader(reader))
            for reading, margin in zip(found.interpretations, made, strict=True):
                if margin is not None and np.isfinite(margin):
                    yield margin, is_right(reading, question)


def _arrays(samples: Iterator[tuple[float, bool]]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    found = list(samples)
    return np.array([margin for margin, _ in found]), np.array([right for _, right in found])


def main(
    program: Annotated[list[str] | None, typer.Option(help="A program, several times for several.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the fit as JSON.")] = None,
) -> None:
    """Fit the curve on training questions, and look at it on development questions."""
    programs = program or list(_PROGRAMS)
    train, dev = load_questions("homonyms/train"), load_questions("homonyms/dev")
    margin, right = _arrays(_samples(programs, train, "embedded"))
    fit = LogisticRegression(C=1e6).fit(margin[:, None], right)
    margin_dev, right_dev = _arrays(_samples(programs, dev, "embedded"))
    said = fit.predict_proba(margin_dev[:, None])[:, 1]
    parts = np.array_split(np.argsort(margin_dev), _FIFTHS)
    made = Confidence(
        command="python -m lab.confidence",
        date=today(),
        lm="polyqa/extractive",
        reader=shared_reader("embedded").name,
        programs=programs,
        train=f"homonyms/train, {len(train)} questions, {len(margin)} readings",
        dev=f"homonyms/dev, {len(dev)} questions, {len(margin_dev)} readings",
        slope=round(float(fit.coef_[0, 0]), 3),
        offset=round(float(fit.intercept_[0]), 3),
        fifths=[
            Fifth(n=len(one), right=round(float(right_dev[one].mean()), 3), said=round(float(said[one].mean()), 3))
            for one in parts
        ],
    )
    typer.echo(f"slope {made.slope}, offset {made.offset}\n\n{made.table()}")
    keep(made, json_file)


if __name__ == "__main__":
    typer.run(main)
