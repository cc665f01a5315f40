"""Questions of ASQA's schema."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from signatures import PolyqaError


@dataclass(frozen=True)
class Reading:
    """A disambiguated question with its short answers (the first is the canonical one)."""

    question: str
    short_answers: tuple[str, ...]
    pid: str | None = None


@dataclass(frozen=True)
class Question:
    """An ambiguous (or plain) question with its readings and long answers.

    Attributes
    ----------
    id, question
        The id in its data set, and the text.
    readings
        At least one.
    long_answers
        Reference answers; may be empty.
    ambiguity, reason
        The ambiguity type and why, where the data set gives them.
    """

    id: str
    question: str
    readings: tuple[Reading, ...]
    long_answers: tuple[str, ...] = ()
    ambiguity: str | None = None
    reason: str | None = None

    @property
    def answers(self) -> Sequence[Sequence[str]]:
        """The aliases of every reading."""
        return [reading.short_answers for reading in self.readings]


def read_asqa(path: str | Path, split: str | None = None) -> list[Question]:
    """Read questions of ASQA's official schema.

    Parameters
    ----------
    path
        A JSON file: ``{split: {id: {ambiguous_question, qa_pairs, annotations}}}``, or without splits.
    split
        Which split to take; the only one if not given.

    Raises
    ------
    PolyqaError
        If the file is missing or of another schema; the first bad record is shown.
    """
    path = Path(path)
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise PolyqaError(f"{path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise PolyqaError(f"{path} is not JSON ({error}).") from error
    if not isinstance(data, dict):
        raise PolyqaError(f"{path}: expected an object of questions, got {type(data).__name__}.")
    if not any(isinstance(record, dict) and "qa_pairs" in record for record in data.values()):
        if split is None and len(data) == 1:
            split = next(iter(data))
        if split not in data:
            wanted = "Name a split" if split is None else f"There is no split {split!r}"
            raise PolyqaError(f"{path}: {wanted}; there are {', '.join(data) or 'none'}.")
        data = data[split]
        if not isinstance(data, dict):
            kind = type(data).__name__
            raise PolyqaError(f"{path}: expected split {split!r} to be an object of questions, got {kind}.")
    return [_question(path, str(key), record) for key, record in data.items()]


def _question(path: Path, key: str, record: Any) -> Question:
    try:
        readings = tuple(
            Reading(pair["question"], tuple(pair["short_answers"]), pair.get("pid")) for pair in record["qa_pairs"]
        )
        if not readings:
            raise ValueError("no qa_pairs")
        if any(isinstance(pair["short_answers"], str) for pair in record["qa_pairs"]):
            raise TypeError("short_answers must be a list")
        return Question(
            id=key,
            question=record["ambiguous_question"],
            readings=readings,
            long_answers=tuple(note["long_answer"] for note in record.get("annotations", [])),
            ambiguity=record.get("ambiguity"),
            reason=record.get("reason"),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        shown = json.dumps(record, ensure_ascii=False)[:200]
        raise PolyqaError(f"{path}: question {key!r} is not of ASQA's schema ({error!r}): {shown}") from error
