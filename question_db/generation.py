"""Questions from a corpus: answers are detected, questions written, verified, and twice revised.

SIXPAQ (section 3.1, 3.3.1) fine-tunes a model for each step; here each is a signature that any language
model fills.
"""

import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from pathlib import Path
from typing import Any

import dspy

from embedded_models import SpanReader
from metrics.exact_presence import normalize_answer
from signatures import DetectAnswers, GenerateQuestion, Passage, PolyqaError, ReviseQuestion

from .journal import appending, read_journal
from .types import Counts, GeneratedQuestion, Generation
from .verification import verified

REVISIONS = 2  # a third changes nothing (SIXPAQ, section 3.3.1)
_MOST_ANSWERS = 8
_NO_QUESTION = ("", "none", "n/a", "null")
_FIRST_FAILURES = 5  # when the first so many passages all fail, the cause is not the passages


def generate_questions(
    passages: Sequence[Passage],
    *,
    lm: dspy.LM,
    reader: SpanReader,
    journal: Path,
    threads: int = 8,
    step: Callable[[], None] = lambda: None,
) -> Generation:
    """Make questions from passages; a generation that was killed goes on.

    Parameters
    ----------
    passages
        With distinct ids.
    lm
        Fills `DetectAnswers`, `GenerateQuestion` and `ReviseQuestion`.
    reader
        Verifies.
    journal
        JSON lines, one per passage as it ends; those in it are not read again. A passage for which the
        language model failed is not in it, and is tried again the next time.
    threads, step
        Passages at once; called after each passage.

    Raises
    ------
    PolyqaError
        If the first passages all fail, or the journal is of another corpus, language model or reader.
    """
    settings = {"lm": str(lm.model), "reader": reader.name, "corpus": _fingerprint(passages)}
    done = {line["pid"]: line for line in read_journal(journal, settings)}
    failures: list[str] = []
    ended_pids = set(done)
    for _ in done:
        step()
    left = [passage for passage in passages if passage.pid not in done]
    stop = threading.Event()

    def one(passage: Passage) -> dict[str, Any] | None:
        return None if stop.is_set() else _of_passage(passage, lm, reader)

    with appending(journal, settings) as append:

        def keep(ended: Iterable[Future[dict[str, Any] | None]]) -> None:
            for future in ended:
                line = future.result()
                if line is None or line["pid"] in ended_pids:
                    continue
                ended_pids.add(line["pid"])
                if line["failed"]:
                    failures.append(line["failed"])
                else:
                    append(line)
                    done[line["pid"]] = line
                step()

        pool = ThreadPoolExecutor(threads)
        pending = {pool.submit(copy_context().run, one, passage) for passage in left}
        every = frozenset(pending)
        try:
            while pending:
                ended, pending = wait(pending, return_when=FIRST_COMPLETED)
                keep(ended)
                if len(failures) >= _FIRST_FAILURES and not done:
                    raise PolyqaError(
                        f"The first {len(failures)} passages all failed: {failures[-1]} Mend the cause and start again."
                    )
        finally:  # passages that are being read are still read and kept
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            keep(future for future in every if not future.cancelled() and future.exception() is None)
    lines = [done[passage.pid] for passage in passages if passage.pid in done]
    if left and not lines:
        raise PolyqaError(f"Every passage failed: {failures[-1]}")
    questions = _merge(lines)
    counts = Counts(
        passages=len(passages),
        failed=len(passages) - len(lines),
        **{name: sum(line[name] for line in lines) for name in ("answers", "generated", "verified", "revised")},
        questions=len(questions),
    )
    return Generation(questions=questions, counts=counts)


def _fingerprint(passages: Sequence[Passage]) -> str:
    texts = [[passage.pid, passage.title, passage.text] for passage in passages]
    return hashlib.sha256(json.dumps(texts, ensure_ascii=False).encode()).hexdigest()[:16]


def _of_passage(passage: Passage, lm: dspy.LM, reader: SpanReader) -> dict[str, Any]:
    line: dict[str, Any] = {"pid": passage.pid, "failed": ""}
    try:
        with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
            return {**line, **_steps(passage, reader)}
    except Exception as error:  # one bad reply must not end a long generation; it is counted and tried again
        return {**line, "failed": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}


def _steps(passage: Passage, reader: SpanReader) -> dict[str, Any]:
    shown = passage.render()
    detect, generate, revise = map(dspy.Predict, (DetectAnswers, GenerateQuestion, ReviseQuestion))
    answers = _spans(detect(passage=shown).answers, passage)
    written = [(_question(generate(passage=shown, answer=answer).question), answer) for answer in answers]
    asked = [(question, answer) for question, answer in written if question and not _tells(question, answer)]
    current = _keep_verified(asked, passage, reader)
    first = {question for question, _ in current}
    for _ in range(REVISIONS):
        revised = [
            (_question(revise(passage=shown, question=question, answer=answer).revised_question) or question, answer)
            for question, answer in current
        ]
        fine = verified(revised, passage.text, reader)
        current = [
            new if good and not _tells(*new) else old for old, new, good in zip(current, revised, fine, strict=True)
        ]
    return {
        "answers": len(answers),
        "generated": len(asked),
        "verified": len(current),
        "revised": sum(question not in first for question, _ in current),
        "questions": [[question, answer] for question, answer in current],
    }


def _spans(answers: Sequence[str], passage: Passage) -> list[str]:
    """Return the answers that stand in the passage, each once under SQuAD's normalisation (section 3.1.2)."""
    kept: dict[str, str] = {}
    for answer in answers:
        if answer in passage.text and normalize_answer(answer) not in ("", normalize_answer(passage.title)):
            kept.setdefault(normalize_answer(answer), answer)
    return list(kept.values())[:_MOST_ANSWERS]


def _question(text: str) -> str:
    text = " ".join(str(text).split()).strip("\"'“”")
    if text.rstrip(".").lower() in _NO_QUESTION:
        return ""
    return text if text.endswith("?") else f"{text.rstrip('.')}?"


def _tells(question: str, answer: str) -> bool:
    return f" {normalize_answer(answer)} " in f" {normalize_answer(question)} "


def _keep_verified(pairs: Sequence[tuple[str, str]], passage: Passage, reader: SpanReader) -> list[tuple[str, str]]:
    """Return the verified pairs; of those with the same question the first, whose answer was more telling."""
    kept: dict[str, tuple[str, str]] = {}
    for pair, good in zip(pairs, verified(pairs, passage.text, reader), strict=True):
        if good:
            kept.setdefault(pair[0], pair)
    return list(kept.values())


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
