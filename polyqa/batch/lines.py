"""The file of answers: a line for each question as it ends, what the batch was begun with beside it.

answers.jsonl                  an answer a line, with a checksum (`polyqa.base.lines`); at the end in the
                               order of the questions
answers.jsonl.settings.json    what answered; a batch goes on only with the same
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from polyqa.artifacts.identity import changes
from polyqa.base.counts import counted
from polyqa.base.errors import PolyqaError
from polyqa.base.files import write_whole
from polyqa.base.lines import Appender, appending_lines, json_object, read_lines, with_checksum
from polyqa.evaluation.records import Took

from .asked import Asked

_ELSEWHERE = "Choose another file, or have this one replaced (--overwrite)."


@dataclass(frozen=True)
class Outcome:
    """How a question ended: what it took, and why it has no answer if it has none."""

    question: str
    took: Took
    error: str = ""


@dataclass(frozen=True)
class Answered:
    """A batch that is done.

    Attributes
    ----------
    path
        The file: a JSON object a line, in the order of the questions. An answer has ``id`` and the keys of
        `polyqa.Result.to_dict`; a question that failed has ``id``, ``question`` and ``error``.
    outcomes
        By id, in the order of the questions.
    dollars
        What the tokens cost by the list of prices; ``None`` if that does not tell.
    """

    path: Path
    outcomes: Mapping[str, Outcome]
    dollars: float | None

    def __len__(self) -> int:
        return len(self.outcomes)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the lines as dicts, read from the file one by one."""
        with self.path.open(encoding="utf-8") as lines:
            for line in lines:
                value = json.loads(line)
                value.pop("crc", None)
                yield value

    @property
    def failed(self) -> dict[str, str]:
        """Why questions have no answer, by id."""
        return {id: one.error for id, one in self.outcomes.items() if one.error}

    @property
    def took(self) -> Took:
        """The sums over all questions."""
        return sum((one.took for one in self.outcomes.values()), Took())

    def __repr__(self) -> str:
        return f"Answered({str(self.path)!r}, {counted(len(self), 'question')}, {len(self.failed)} failed)"


def line_of(id: str, fields: Mapping[str, Any]) -> str:
    """Return an answer as a line; half a character becomes a ``?``."""
    text = json.dumps({"id": id, **fields}, ensure_ascii=False)
    return with_checksum(text.encode("utf-8", errors="replace").decode())


def outcome_of(fields: Mapping[str, Any]) -> Outcome:
    """Return how a question ended that a line tells of; a `ValueError` if the line is not one of these."""
    error = fields.get("error")
    if not isinstance(fields.get("id"), str) or not isinstance(fields.get("question"), str):
        raise ValueError("it has no id or no question")
    if not isinstance(error, dict) and not isinstance(fields.get("answer"), str):
        raise ValueError("it has neither an answer nor an error")
    sums = {name: fields.get(name, 0) for name in ("calls", "input_tokens", "output_tokens", "seconds")}
    why = str(error.get("message") or error.get("kind")) if isinstance(error, dict) else ""
    return Outcome(fields["question"], Took(answers=1, failed=int(bool(why)), **sums), why)


class Answers:
    """The file of a batch, locked while it is at work; made by `open_answers`.

    Attributes
    ----------
    outcomes
        Of what is in the file, by id.
    """

    def __init__(self, path: Path, outcomes: dict[str, Outcome], file: Appender) -> None:
        self.path = path
        self.outcomes = outcomes
        self._file = file

    def keep(self, id: str, fields: Mapping[str, Any]) -> Outcome:
        """Add a line."""
        self._file.append(line_of(id, fields))
        self.outcomes[id] = outcome_of({"id": id, **fields})
        return self.outcomes[id]


@contextmanager
def open_answers(
    path: Path, asked: Sequence[Asked], settings: Mapping[str, Any], *, retry_failed: bool, overwrite: bool
) -> Iterator[Answers]:
    """Open the file of a batch, which goes on where it was stopped; order its lines when the block has ended.

    Answers of questions that are not asked any more, or are worded differently now, are dropped.

    Raises
    ------
    PolyqaError
        If the file is something else, was begun with other settings, cannot be written, or another process has it.
    """
    lock = FileLock(path.with_name(f".{path.name}.lock"))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout:
        raise PolyqaError(f"{path} is being written by another process.") from None
    except OSError as error:
        raise PolyqaError(f"{path} cannot be written: {error.strerror or error}.") from error
    try:
        if overwrite:
            path.unlink(missing_ok=True)
            settings_path(path).unlink(missing_ok=True)
        outcomes = _earlier(path, asked, settings, retry_failed)
        with appending_lines(path) as file:
            answers = Answers(path, outcomes, file)
            yield answers
        _rewrite(path, [one.id for one in asked])
    finally:
        lock.release()


def settings_path(path: Path) -> Path:
    """Return where it is written what a file of answers was begun with."""
    return path.with_name(f"{path.name}.settings.json")


def _earlier(path: Path, asked: Sequence[Asked], settings: Mapping[str, Any], retry_failed: bool) -> dict[str, Outcome]:
    if path.is_dir():
        raise PolyqaError(f"{path} is a folder; name a file, such as {path / 'answers.jsonl'}.")
    written = settings_path(path)
    if not written.exists():
        if path.exists():
            raise PolyqaError(f"{path} is there already, and {written.name} is not. {_ELSEWHERE}")
        write_whole(written, (json.dumps(settings, indent=2) + "\n").encode())
        return {}
    try:
        earlier = json.loads(written.read_bytes())
    except ValueError as error:
        raise PolyqaError(f"{written} is damaged ({error}). {_ELSEWHERE}") from error
    if changed := changes(earlier, dict(settings)):
        raise PolyqaError(f"{path} was begun with something else: {changed}. {_ELSEWHERE}")
    lines = read_lines(path, lambda data: (value := json_object(data))["id"] and (value["id"], outcome_of(value)))
    lines.warn()
    lines.repair()
    questions = {one.id: one.question for one in asked}
    return {
        id: outcome
        for id, outcome in (line.value for line in lines.whole)
        if questions.get(id) == outcome.question and not (retry_failed and outcome.error)
    }


def _rewrite(path: Path, ids: Sequence[str]) -> None:
    """Put the lines in the order of the questions, the last one of each."""
    lines = {line.value["id"]: line.data for line in read_lines(path, json_object).whole}
    ordered = b"".join(lines[id] + b"\n" for id in ids if id in lines)
    if ordered != path.read_bytes():
        write_whole(path, ordered)
