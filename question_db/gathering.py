"""Gathers what was made of the passages, in whatever order they end, into a journal and then a `Generation`."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from polyqa.metrics.text import normalize_answer
from polyqa.signatures import Passage, PolyqaError

from .journal import appending, read_journal
from .types import Counts, GeneratedQuestion, Generation, Origin

_FIRST_FAILURES = 5  # when the first so many passages all fail, the cause is not the passages


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
        done: dict[str, dict[str, Any]],
        append: Callable[[dict[str, Any]], None],
        step: Callable[[], None],
    ) -> None:
        self._passages, self._origin, self._done, self._append, self._step = passages, origin, done, append, step
        self._ended = set(done)
        self._failures: list[str] = []
        self.left = [passage for passage in passages if passage.pid not in done]
        for _ in done:
            step()

    def keep(self, line: dict[str, Any]) -> None:
        """Take the line of a passage; one that is known already is passed over."""
        if line["pid"] in self._ended:
            return
        self._ended.add(line["pid"])
        if line["failed"]:
            self._failures.append(line["failed"])
        else:
            self._append(line)
            self._done[line["pid"]] = line
        self._step()

    def require_progress(self) -> None:
        """Check that it is worth going on.

        Raises
        ------
        PolyqaError
            If the first passages have all failed.
        """
        if len(self._failures) >= _FIRST_FAILURES and not self._done:
            raise PolyqaError(
                f"The first {len(self._failures)} passages all failed: {self._failures[-1]} "
                "Mend the cause and start again."
            )

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
    passages: Sequence[Passage], lm: str, reader: str, journal: Path, step: Callable[[], None]
) -> Iterator[Gathered]:
    """Open a journal for passages with distinct ids.

    Raises
    ------
    PolyqaError
        If the journal is of other passages, another language model or another reader.
    """
    origin = Origin(lm=lm, reader=reader, corpus=corpus_fingerprint(passages))
    settings = origin.model_dump()
    done = {line["pid"]: line for line in read_journal(journal, settings)}
    with appending(journal, settings) as append:
        yield Gathered(passages, origin, done, append, step)


def corpus_fingerprint(passages: Sequence[Passage]) -> str:
    """Return 16 hex digits over the passages in their order."""
    texts = [[passage.pid, passage.title, passage.text] for passage in passages]
    return hashlib.sha256(json.dumps(texts, ensure_ascii=False).encode()).hexdigest()[:16]


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
