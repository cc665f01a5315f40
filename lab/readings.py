"""Whether the readings that a program shows are right, and how many of the gold ones it shows.

python -m lab.readings RUN [RUN …] --questions SOURCE [--worst N]

RUN is a folder of `polyqa evaluate` on these questions. A shown reading is right if its answer equals, after
normalisation, an alias of a gold reading that no other takes; precision and recall are over all readings of the
run, not means over questions. Of several annotators the one counts whose readings agree best. The worst questions
are printed with what was shown and what was missed: a score alone does not say what a user sees.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Interpretation
from polyqa.evaluation.loading import load_questions
from polyqa.evaluation.records import Record
from polyqa.evaluation.runs import open_run
from polyqa.metrics.f1_answer import matches
from polyqa.metrics.gold import Question, Reading


@dataclass(frozen=True)
class Shown:
    """What was shown for one question, beside the gold readings that it is held against.

    Attributes
    ----------
    taken
        For each shown reading the place of the gold one that it matches, or ``None``.
    """

    question: str
    readings: tuple[Interpretation, ...]
    gold: tuple[Reading, ...]
    taken: tuple[int | None, ...]

    @property
    def right(self) -> int:
        """How many of the shown readings are right."""
        return sum(place is not None for place in self.taken)

    @property
    def errors(self) -> int:
        """How many readings are wrong or missed."""
        return len(self.readings) + len(self.gold) - 2 * self.right

    def lines(self) -> list[str]:
        """Return the question with its readings, right (+), wrong (-) and missed (?)."""
        told = [self.question]
        for reading, place in zip(self.readings, self.taken, strict=True):
            told.append(f"  {'-' if place is None else '+'} {reading.question} → {reading.answer}")
        missed = (gold for place, gold in enumerate(self.gold) if place not in self.taken)
        return [*told, *(f"  ? {gold.question} → {' / '.join(gold.short_answers)}" for gold in missed)]


@dataclass(frozen=True)
class Figures:
    """Counts over all readings of a run, and what is made of them in percent."""

    shown: int
    gold: int
    right: int

    @classmethod
    def of(cls, every: Sequence[Shown]) -> "Figures":
        """Return the figures of some questions."""
        return cls(
            sum(len(one.readings) for one in every), sum(len(one.gold) for one in every), sum(o.right for o in every)
        )

    @property
    def precision(self) -> float:
        """Right ones among those shown; 0 if none is shown."""
        return 100 * self.right / self.shown if self.shown else 0.0

    @property
    def recall(self) -> float:
        """Right ones among the gold ones."""
        return 100 * self.right / self.gold

    @property
    def f1(self) -> float:
        """Harmonic mean of both."""
        return 200 * self.right / (self.shown + self.gold)


def held_against(question: Question, record: Record) -> Shown:
    """Return what was shown for a question beside the annotator's readings that agree best with it."""
    answers = [reading.answer for reading in record.interpretations]
    options = [
        Shown(
            question.question,
            record.interpretations,
            tuple(gold),
            tuple(matches(answers, [reading.short_answers for reading in gold])),
        )
        for gold in question.annotations
    ]
    return min(options, key=lambda shown: shown.errors / (len(shown.readings) + len(shown.gold)))


def compared(questions: Sequence[Question], records: Sequence[Record]) -> list[Shown]:
    """Return all questions of a run with their readings, in the run's order.

    Raises
    ------
    PolyqaError
        If the run holds a question that is none of these.
    """
    known: Mapping[str, Question] = {question.id: question for question in questions}
    unknown = next((record.id for record in records if record.id not in known), None)
    if unknown is not None:
        raise PolyqaError(
            f"The run's question {unknown!r} is none of these: give the --questions that it was made with."
        )
    return [held_against(known[record.id], record) for record in records]


def main(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs.")],
    questions: Annotated[str, typer.Option(help="What they were made with, as for polyqa evaluate.")],
    worst: Annotated[int, typer.Option(min=0, help="How many of the worst questions of each run to show.")] = 10,
) -> None:
    """Print precision, recall and F1 of the readings of each run, and its worst questions."""
    asked = load_questions(questions)
    for path in runs:
        run = open_run(path)
        every = compared(asked, run.records)
        total = Figures.of(every)
        typer.echo(
            f"{run.name}: n = {len(every)}, {total.right} of {total.shown} shown are right, of {total.gold} gold: "
            f"precision {total.precision:.1f}, recall {total.recall:.1f}, F1 {total.f1:.1f}"
        )
        for shown in sorted(every, key=lambda one: -one.errors)[:worst]:
            typer.echo("\n".join(shown.lines()))


if __name__ == "__main__":
    typer.run(main)
