"""The questions of a batch: from a file, from Python, or from a set of questions by name."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from polyqa.base.errors import PolyqaError
from polyqa.evaluation.loading import load_questions
from polyqa.evaluation.loading.files import SUFFIXES, read_file
from polyqa.evaluation.loading.record import Record, excerpt, problem

_TEXT = ".txt"
_QUESTION = ("question", "ambiguous_question", "utterance")


@dataclass(frozen=True)
class Asked:
    """A question, and the id that its answer is known by."""

    id: str
    question: str


Given: TypeAlias = str | Path | Iterable[str | Mapping[str, Any] | Asked]
"""What is taken for the questions of a batch."""


def read_asked(given: Given) -> list[Asked]:
    """Return the questions of a batch, in their order.

    Parameters
    ----------
    given
        A file: ``.jsonl`` or ``.json`` with objects that have a ``question`` and may have an ``id`` (other keys are
        passed over), or texts; ``.txt`` with a question on each line. Or ``homonyms/dev``, or what else
        `polyqa.evaluation.loading.load_questions` takes. Or such objects or texts in Python.

    Returns
    -------
    list of Asked
        At least one. Where there is no id it is the number of the question, from 1.

    Raises
    ------
    PolyqaError
        If the file cannot be read, something in it is no question, or two have one id; it names the line.
    """
    if isinstance(given, (str, Path)):
        path = Path(given).expanduser()
        if path.suffix.lower() == _TEXT:
            found = [_asked(record, number) for number, record in enumerate(_lines(path), 1)]
        elif path.suffix.lower() in SUFFIXES and not str(given).startswith("hub:"):
            found = [_asked(record, number) for number, record in enumerate(read_file(path), 1)]
        else:
            found = [Asked(one.id, one.question) for one in load_questions(given)]
    else:
        found = [
            one if isinstance(one, Asked) else _asked(Record(f"question {number}", one), number)
            for number, one in enumerate(given, 1)
        ]
    if not found:
        raise PolyqaError(
            f"There is no question in {given}." if isinstance(given, (str, Path)) else "Nothing is asked."
        )
    _require_distinct(found)
    return found


def _lines(path: Path) -> list[Record]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise problem(path, f"the file is not UTF-8 text ({error.reason} at byte {error.start})") from error
    except OSError as error:
        raise problem(path, f"the file cannot be read: {error.strerror or error}") from error
    return [Record(f"{path}: line {n}", line) for n, line in enumerate(text.split("\n"), 1) if line.strip()]


def _asked(record: Record, number: int) -> Asked:
    value = record.value
    if isinstance(value, str):
        return Asked(record.key or str(number), value.strip())
    if not isinstance(value, Mapping):
        raise problem(record.where, "a question is a text, or an object with one", excerpt(value))
    texts = [value[key] for key in _QUESTION if key in value]
    if not texts or not isinstance(texts[0], str):
        raise problem(record.where, 'there is no "question" that is a text', excerpt(value))
    id = value.get("id", record.key)
    if id is not None and (isinstance(id, bool) or not isinstance(id, (str, int)) or id == ""):
        raise problem(record.where, "an id is a text or a whole number", excerpt(id))
    return Asked(str(number) if id is None else str(id), texts[0])


def _require_distinct(asked: Iterable[Asked]) -> None:
    known: set[str] = set()
    for one in asked:
        if one.id in known:
            raise PolyqaError(f"Two questions have the id {one.id!r:.100}: give each one of its own.")
        known.add(one.id)
