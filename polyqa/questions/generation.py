"""Questions from a corpus: answers are detected, questions written, verified and revised.

SIXPAQ (section 3.1, 3.3.1) fine-tunes a model for each step; here each is a signature that any language model fills,
or one call writes questions with their answers (`_at_once`). What was made of each passage is kept in a journal, a
ledger (`polyqa.base.ledger`) with a line of `read_passage` for each passage.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import dspy

from polyqa.base.errors import PolyqaError
from polyqa.base.ledger import open_ledger
from polyqa.base.values import Passage
from polyqa.base.work import Failure, work_through
from polyqa.lm.adapter import configured_adapter
from polyqa.lm.exchanges import exchanging
from polyqa.metrics.agreement import agree
from polyqa.metrics.text import holds, normalize_answer
from polyqa.models import SpanReader
from polyqa.replies import is_null
from polyqa.replies.text import strip_dress
from polyqa.signatures import AnswerFromPassage, AskOfPassage, GenerateQuestion, ReviseQuestion
from polyqa.signatures.sixpaq import detecting

from .examples import with_examples
from .types import Counts, GeneratedQuestion, Generation, Origin, QuestionSettings


def generate_questions(
    passages: Sequence[Passage],
    *,
    lm: dspy.LM,
    reader: SpanReader,
    journal: Path,
    settings: QuestionSettings = QuestionSettings(),
    threads: int = 8,
    step: Callable[[], None] = lambda: None,
    elsewhere: AbstractContextManager[Callable[[Passage], Any]] | None = None,
) -> Generation:
    """Make questions from passages; a generation that was killed goes on.

    Parameters
    ----------
    passages
        With distinct ids.
    lm
        Fills `DetectAnswers`, `GenerateQuestion` and `ReviseQuestion`, or `AskOfPassage` and `AnswerFromPassage`.
    reader
        Verifies.
    journal
        A file (sqlite, see `polyqa.base.ledger`) that keeps what was made of each passage as it ends; those in it are
        not read again. A passage for which the language model failed is not in it, and is tried again the next time.
    settings
        How often a question is revised, and how many spans of a passage are asked for, or all in one call.
    threads, step
        Passages at once; called after each passage.
    elsewhere
        Gives what reads a passage on another machine, as `read_passage` does here, to be awaited or not; it is entered
        if a passage is left to read.

    Raises
    ------
    PolyqaError
        If every passage fails, or passages fail one after the other, or the journal is of another language model or
        reader, or of other settings.
    """
    origin = Origin(lm=str(lm.model), reader=reader.name, corpus=corpus_fingerprint(passages), **asdict(settings))
    hashes = {passage.pid: corpus_fingerprint([passage]) for passage in passages}
    last_failure: Failure | None = None
    with open_ledger(journal, origin.model_dump(exclude={"corpus"})) as ledger:
        # The corpus may have changed since: what the journal holds of passages that are as they were is good.
        lines_by_pid = {pid: line for pid, line in ledger if line["passage"] == hashes.get(pid)}
        other_pids = frozenset(pid for pid, _ in ledger) - hashes.keys()
        unread = [passage for passage in passages if passage.pid not in lines_by_pid]
        for _ in lines_by_pid:
            step()

        def keep(passage: Passage, line: dict[str, Any]) -> Failure | None:
            nonlocal last_failure
            pid = passage.pid
            if line["failed"]:
                last_failure = Failure.model_validate(line["failed"])
                step()
                return last_failure
            if pid not in lines_by_pid:
                record = {**line, "passage": hashes[pid]}
                ledger.keep(pid, record)  # first of all: if Ctrl-C comes meanwhile, the line is given once more
                lines_by_pid[pid] = record
                step()
            return None

        if unread:
            here = partial(read_passage, lm=lm, reader=reader, settings=settings)
            with elsewhere or nullcontext(here) as read:
                work_through(unread, read, keep, at_once=threads, things="passages")
    lines = [lines_by_pid[passage.pid] for passage in passages if passage.pid in lines_by_pid]
    if unread and not lines:
        raise PolyqaError(f"Every passage failed: {last_failure}")
    questions = _merge(lines)
    counts = Counts(
        passages=len(passages),
        failed=len(passages) - len(lines),
        **{name: sum(line[name] for line in lines) for name in ("answers", "generated", "verified", "revised")},
        questions=len(questions),
    )
    return Generation(questions=questions, counts=counts, origin=origin, others=other_pids)


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
        GeneratedQuestion(question=question, answers=tuple(a for a, _ in sources), pids=tuple(p for _, p in sources))
        for question, sources in merged.values()
    )


def read_passage(
    passage: Passage, lm: dspy.LM, reader: SpanReader, settings: QuestionSettings = QuestionSettings()
) -> dict[str, Any]:
    """Make the questions of a passage.

    Returns
    -------
    dict
        JSON data: ``pid``, ``failed`` (a `Failure` if the language model failed, else ``None``); unless it failed, the
        ``questions`` as pairs of question and answer, and how many were left after each step
        (``answers``, ``generated``, ``verified``, ``revised``).
    """
    line: dict[str, Any] = {"pid": passage.pid, "failed": None}
    try:
        with dspy.context(lm=lm, adapter=configured_adapter()), exchanging():
            if settings.at_once:
                return {**line, **_at_once(passage, reader)}
            return {**line, **_steps(passage, reader, settings)}
    except Exception as error:  # one bad reply must not end a long generation; it is counted and tried again
        return {**line, "failed": Failure.of(error).model_dump()}


def _steps(passage: Passage, reader: SpanReader, settings: QuestionSettings) -> dict[str, Any]:
    text = passage.render()
    detect, generate, revise = map(with_examples, (detecting(settings.spans), GenerateQuestion, ReviseQuestion))
    answers = _spans(detect(passage=text).answers, passage)[: settings.spans]
    written = [(_question(generate(passage=text, answer=answer).question), answer) for answer in answers]
    pairs = [
        (question, answer) for question, answer in written if question and not holds(question, answer, normalize_answer)
    ]
    first: dict[str, tuple[str, str]] = {}  # by question: of several answers the first, which was more telling
    for pair, good in zip(pairs, verified(pairs, passage.text, reader), strict=True):
        if good:
            first.setdefault(pair[0], pair)
    current = [*first.values()]
    for _ in range(settings.revisions):
        revised = [
            (_question(revise(passage=text, question=question, answer=answer).revised_question) or question, answer)
            for question, answer in current
        ]
        fine = verified(revised, passage.text, reader)
        current = [
            new if good and not holds(*new, normalize_answer) else old
            for old, new, good in zip(current, revised, fine, strict=True)
        ]
    return {
        "answers": len(answers),
        "generated": len(pairs),
        "verified": len(current),
        "revised": sum(question not in first for question, _ in current),
        "questions": [[question, answer] for question, answer in current],
    }


def _at_once(passage: Passage, reader: SpanReader) -> dict[str, Any]:
    """Make questions in one call, which costs a tenth, and asks what no short span leads to (*Why must …?*).

    The reader knows an encyclopedia better than a manual: what it does not answer, the language model answers again.
    """
    text = passage.render()
    asked = with_examples(AskOfPassage)(passage=text).questions
    pairs = [(_question(pair.question), pair.answer.strip()) for pair in asked]
    usable = {
        question: (question, answer)
        for question, answer in reversed(pairs)
        if question and _spans([answer], passage) and not holds(question, answer, normalize_answer)
    }
    current = [*reversed(usable.values())]
    good = [
        pair
        for pair, good in zip(current, verified(current, passage.text, reader), strict=True)
        if good or answered_again(*pair, passage)
    ]
    return {
        "answers": len(pairs),
        "generated": len(current),
        "verified": len(good),
        "revised": 0,
        "questions": [[question, answer] for question, answer in good],
    }


def answered_again(question: str, answer: str, passage: Passage) -> bool:
    """Return whether the language model gives an answer when it is asked the question about its passage."""
    again = with_examples(AnswerFromPassage)(passage=passage.render(), question=question).answer
    return not is_null(again) and agree(again, [answer])


def verified(pairs: Sequence[tuple[str, str]], context: str, reader: SpanReader) -> list[bool]:
    """Return, for each question with its answer, whether the reader gives that answer over the context (section 3.1.4).

    A reader that holds "no answer" to be likelier than its best span, by its own null threshold, gives none.
    The paper wants answers equal after normalisation; here they must agree (`agree`), as
    a reader may cut a date or a title short.
    """
    readings = reader.read([(question, context) for question, _ in pairs])
    spans = [reading.answer(reader.null_threshold) for reading in readings]
    return [bool(span) and agree(span, [answer]) for span, (_, answer) in zip(spans, pairs, strict=True)]


def _spans(answers: Sequence[str], passage: Passage) -> list[str]:
    """Return the answers that stand in the passage, each once under SQuAD's normalisation (section 3.1.2)."""
    spans: dict[str, str] = {}
    for answer in answers:
        if answer in passage.text and normalize_answer(answer) not in ("", normalize_answer(passage.title)):
            spans.setdefault(normalize_answer(answer), answer)
    return list(spans.values())


def _question(text: str) -> str:
    text = bare_question(text)
    return text if not text or is_question(text) else f"{text.rstrip('.')}?"


def bare_question(text: str) -> str:
    """Return a question on one line, without quotation marks around all of it; ``""`` for "None"."""
    text = strip_dress(" ".join(text.split()))
    return "" if is_null(text) else text


def is_question(text: str) -> bool:
    """Return whether a text ends as a question does; in some scripts it has a mark of its own."""
    return text.rstrip("\"'”’").endswith(("?", "？", "؟"))
