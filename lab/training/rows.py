"""What the makers of training data share: rows in files, and questions that stay out."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from polyqa.base.errors import PolyqaError
from polyqa.base.files import write_atomically
from polyqa.evaluation.loading import load_questions
from polyqa.metrics.gold import Question
from polyqa.metrics.text import normalize_answer

from .squad import Example

Row = TypeVar("Row")


def held_out(sources: Iterable[str]) -> set[str]:
    """Return the questions of question sets and those of their readings, normalized.

    Whoever has seen the single readings of an ambiguous question, with their passages, knows its answers.
    """
    return {text for source in sources for question in load_questions(source) for text in wordings(question)}


def wordings(question: Question) -> set[str]:
    """Return a question and those of its readings, normalized."""
    return {normalize_answer(text) for text in (question.question, *(one.question for one in question.readings))}


def not_held(examples: Iterable[Example], left_out: set[str]) -> list[Example]:
    """Return the examples that are of no question held out, neither themselves nor by the title of their article."""
    return [one for one in examples if not {normalize_answer(one.question), normalize_answer(one.title)} & left_out]


def write_rows(path: Path, rows: Sequence[Any]) -> None:
    """Write dataclasses as JSON lines."""
    write_atomically(path, "".join(f"{json.dumps(asdict(one), ensure_ascii=False)}\n" for one in rows))


def read_rows(path: Path, kind: type[Row], what: str, maker: str) -> list[Row]:
    """Return the dataclasses that a file of JSON lines holds.

    Parameters
    ----------
    what, maker
        What a user calls them, and the module that makes them.

    Raises
    ------
    PolyqaError
        If it cannot be read, or holds none.
    """
    try:
        rows = [kind(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError, TypeError) as error:
        raise PolyqaError(f"{path} cannot be read as {what}: {error}.") from error
    if not rows:
        raise PolyqaError(f"{path} holds no {what}. Make some with python -m {maker}.")
    return rows
