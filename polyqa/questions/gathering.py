"""Gathers what was made of the passages, in whatever order they end, into a journal and then a `Generation`."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from polyqa.base.errors import PolyqaError
from polyqa.base.journal import appending, read_journal
from polyqa.base.outage import Outage
from polyqa.base.values import Passage
from polyqa.metrics.text import normalize_answer

from .types import Counts, GeneratedQuestion, Generation, Origin, QuestionSettings

_OLDER = {name: field.default for name, field in Origin.model_fields.items() if not field.is_required()}


class Gathered:
    """The lines of `steps.read_passage` so far; made by `gathering`.

    Attributes
    ----------
    left
        The passages that the journal did not hold when it was opened.
    """

    def __init__(
        self,
        passages: Sequence[Passage],
        origin: Origin,
        hashes: Mapping[str, str],
        done: dict[str, dict[str, Any]],
        append: Callable[[dict[str, Any]], None],
        step: Callable[[], None],
    ) -> None:
        self._passages, self._origin, self._done, self._append, self._step = passages, origin, done, append, step
        self._hashes = hashes
        self._ended = set(done)
        self._failures: list[str] = []
        self._outage = Outage("passages")
        self.left = [passage for passage in passages if passage.pid not in done]
        for _ in done:
            step()

    def keep(self, line: dict[str, Any]) -> None:
        """Take the line of a passage; one that is known already is passed over."""
        if line["pid"] in self._ended:
            return
        kind, _, why = line["failed"].partition(": ")
        self._outage.ended(why or kind, kind)
        if line["failed"]:
            self._failures.append(line["failed"])
        else:
            # First of all: if Ctrl-C comes meanwhile, the line is given once more.
            self._append({**line, "passage": self._hashes[line["pid"]]})
            self._done[line["pid"]] = line
        self._ended.add(line["pid"])
        self._step()

    def require_progress(self) -> None:
        """Check that it is worth going on.

        Raises
        ------
        PolyqaError
            If passages fail one after the other, see `outage`.
        """
        self._outage.check()

    def finish(self) -> Generation:
        """Return the questions, in the order of the passages, with the counts.

        Raises
        ------
        PolyqaError
            If every passage has failed.
        """
        lines = [self._done[passage.pid] for passage in self._passages if passage.pid in self._done]
        if self.left and not lines:
            raise PolyqaError(f"Every passage failed: {self._failures[-1]}")
        questions = _merge(lines)
        counts = Counts(
            passages=len(self._passages),
            failed=len(self._passages) - len(lines),
            **{name: sum(line[name] for line in lines) for name in ("answers", "generated", "verified", "revised")},
            questions=len(questions),
        )
        return Generation(questions=questions, counts=counts, origin=self._origin)


@contextmanager
def gathering(
    passages: Sequence[Passage],
    lm: str,
    reader: str,
    making: QuestionSettings,
    journal: Path,
    step: Callable[[], None],
) -> Iterator[Gathered]:
    """Open a journal for passages with distinct ids.

    The corpus may have changed since the journal was begun: what it holds of passages that are as they were is good.

    Raises
    ------
    PolyqaError
        If the journal is of another language model or another reader, or was made with other settings.
    """
    origin = Origin(lm=lm, reader=reader, corpus=corpus_fingerprint(passages), **asdict(making))
    settings = origin.model_dump(exclude={"corpus"})
    hashes = {passage.pid: passage_hash(passage) for passage in passages}
    lines = read_journal(journal, settings, older=_OLDER)
    done = {line["pid"]: line for line in lines if line.get("passage") == hashes.get(line["pid"], "")}
    with appending(journal, settings) as append:
        yield Gathered(passages, origin, hashes, done, append, step)


def corpus_fingerprint(passages: Sequence[Passage]) -> str:
    """Return 16 hex digits over the passages in their order."""
    texts = [[passage.pid, passage.title, passage.text] for passage in passages]
    return hashlib.sha256(json.dumps(texts, ensure_ascii=False).encode()).hexdigest()[:16]


def passage_hash(passage: Passage) -> str:
    """Return 16 hex digits over what is read of a passage."""
    return corpus_fingerprint([passage])


def _merge(lines: Sequence[dict[str, Any]]) -> tuple[GeneratedQuestion, ...]:
    """Return one question for all that read the same, with the answers of all (section 3.1.5)."""
    merged: dict[str, tuple[str, dict[tuple[str, str], None]]] = {}
    for line in lines:
        for question, answer in line["questions"]:
            merged.setdefault(normalize_answer(question), (question, {}))[1][answer, line["pid"]] = None
    return tuple(
        GeneratedQuestion(question=question, answers=tuple(a for a, _ in found), pids=tuple(p for _, p in found))
        for question, found in merged.values()
    )
