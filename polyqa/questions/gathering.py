"""Gathers what was made of the passages, in whatever order they end, into a journal and then a `Generation`.

The journal is a ledger (`polyqa.base.ledger`) with a line of `steps.read_passage` for each passage.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from polyqa.base.errors import PolyqaError
from polyqa.base.ledger import Ledger, open_ledger
from polyqa.base.values import Passage
from polyqa.base.work import Failure
from polyqa.metrics.text import normalize_answer

from .types import Counts, GeneratedQuestion, Generation, Origin, QuestionSettings


class Gathered:
    """The lines of `steps.read_passage` so far; made by `gathering`.

    Attributes
    ----------
    left
        The passages that the journal did not hold when it was opened.
    """

    def __init__(self, passages: Sequence[Passage], origin: Origin, ledger: Ledger, step: Callable[[], None]) -> None:
        self._passages, self._origin, self._ledger, self._step = passages, origin, ledger, step
        self._hashes = {passage.pid: passage_hash(passage) for passage in passages}
        self._done = {pid: line for pid, line in ledger if line["passage"] == self._hashes.get(pid)}
        self._last_failure: Failure | None = None
        self.left = [passage for passage in passages if passage.pid not in self._done]
        for _ in self._done:
            step()

    def keep(self, line: Mapping[str, Any]) -> Failure | None:
        """Take the line of a passage, and return why it failed if it did."""
        pid = line["pid"]
        if line["failed"]:
            self._last_failure = Failure.model_validate(line["failed"])
            self._step()
            return self._last_failure
        if pid not in self._done:
            made = {**line, "passage": self._hashes[pid]}
            self._ledger.keep(pid, made)  # first of all: if Ctrl-C comes meanwhile, the line is given once more
            self._done[pid] = made
            self._step()
        return None

    def finish(self) -> Generation:
        """Return the questions, in the order of the passages, with the counts.

        Raises
        ------
        PolyqaError
            If every passage has failed.
        """
        lines = [self._done[passage.pid] for passage in self._passages if passage.pid in self._done]
        if self.left and not lines:
            raise PolyqaError(f"Every passage failed: {self._last_failure}")
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
    with open_ledger(journal, origin.model_dump(exclude={"corpus"})) as ledger:
        yield Gathered(passages, origin, ledger, step)


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
