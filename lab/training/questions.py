"""Open questions with their answers, and keeping those that are measured on out of training."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from polyqa.evaluation.loading import load_questions
from polyqa.metrics.gold import Question
from polyqa.metrics.text import content_words, normalize_answer

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question without a passage.

    Attributes
    ----------
    root
        Id of the item it belongs to: the readings of an ambiguous question share it.
    answers
        One group of aliases per answer; a question that has one reading has one group.
    long_answer
        A long answer to the whole item, or ``""``.
    """

    root: str
    question: str
    answers: tuple[tuple[str, ...], ...]
    long_answer: str = ""

    @property
    def aliases(self) -> tuple[str, ...]:
        """All aliases of all answers."""
        return tuple(dict.fromkeys(alias for group in self.answers for alias in group))


def read_questions(files: Iterable[Path], held_out: Iterable[Path] = ()) -> list[Asked]:
    """Return the ambiguous questions of some files and each of their readings.

    Parameters
    ----------
    files
        ASQA, AmbigNQ, or what else `load_questions` reads.
    held_out
        Files of questions that are measured on: items that share an id or a question's words with one are left out.

    Raises
    ------
    PolyqaError
        If a file is none of these.
    """
    asked, held = (
        [one for path in paths for question in load_questions(path) for one in _asked(question)]
        for paths in (files, held_out)
    )
    return without_held_out(asked, held)


def _asked(question: Question) -> list[Asked]:
    readings = [reading for annotation in question.annotations for reading in annotation]
    long = next(iter(question.long_answers), "")
    others = dict.fromkeys(reading.short_answers for reading in readings[len(question.readings) :])
    groups = [reading.short_answers for reading in question.readings]
    groups += [group for group in others if group not in groups]
    # An annotator who found one reading answers the question as it was asked.
    own = [Asked(question.id, one.question, (one.short_answers,), long) for one in readings]
    return [
        Asked(question.id, question.question, tuple(groups), long),
        *(one for one in own if one.question != question.question),
    ]


def without_held_out(questions: Iterable[Asked], held_out: Iterable[Asked]) -> list[Asked]:
    """Return the questions of items that share no id and no question's words with a held-out one."""
    held, kept = list(held_out), list(questions)
    texts = {normalize_answer(asked.question) for asked in held}
    roots = {asked.root for asked in held}
    roots |= {asked.root for asked in kept if normalize_answer(asked.question) in texts}
    return [asked for asked in kept if asked.root not in roots]


@lru_cache(maxsize=100_000)
def stems(text: str) -> frozenset[str]:
    """Return the beginnings, six letters each, of the words that carry meaning."""
    return frozenset(word[:6] for word in content_words(text))


def drawn(items: Sequence[Item], most: int | None, seed: int) -> list[Item]:
    """Return at most so many of the items, in their order."""
    if most is None or most >= len(items):
        return list(items)
    return [items[place] for place in sorted(random.Random(seed).sample(range(len(items)), most))]
