"""What is done with one passage: detection, generation, verification, revision."""

from collections.abc import Sequence
from typing import Any

import dspy

from polyqa.base.values import Passage
from polyqa.base.work import Failure
from polyqa.lm.adapter import configured_adapter
from polyqa.lm.exchanges import exchanging
from polyqa.metrics.agreement import agree
from polyqa.metrics.text import normalize_answer
from polyqa.models import SpanReader
from polyqa.replies import is_null
from polyqa.signatures import GenerateQuestion, ReviseQuestion
from polyqa.signatures.sixpaq import detecting

from .types import QuestionSettings


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
            return {**line, **_steps(passage, reader, settings)}
    except Exception as error:  # one bad reply must not end a long generation; it is counted and tried again
        return {**line, "failed": Failure.of(error).model_dump()}


def _steps(passage: Passage, reader: SpanReader, settings: QuestionSettings) -> dict[str, Any]:
    shown = passage.render()
    detect, generate, revise = map(dspy.Predict, (detecting(settings.spans), GenerateQuestion, ReviseQuestion))
    answers = _spans(detect(passage=shown).answers, passage)[: settings.spans]
    written = [(_question(generate(passage=shown, answer=answer).question), answer) for answer in answers]
    asked = [(question, answer) for question, answer in written if question and not _tells(question, answer)]
    current = _keep_verified(asked, passage, reader)
    first = {question for question, _ in current}
    for _ in range(settings.revisions):
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


def verified(pairs: Sequence[tuple[str, str]], context: str, reader: SpanReader) -> list[bool]:
    """Return, for each question with its answer, whether the reader gives that answer over the context (section 3.1.4).

    A reader that holds "no answer" to be likelier than its best span, by its own null threshold, gives none.
    The paper wants answers equal after normalisation; here they must agree (`agree`), as
    a reader may cut a date or a title short.
    """
    readings = reader.read([(question, context) for question, _ in pairs])
    found = [reading.answer(reader.null_threshold) for reading in readings]
    return [bool(span) and agree(span, [answer]) for span, (_, answer) in zip(found, pairs, strict=True)]


def _spans(answers: Sequence[str], passage: Passage) -> list[str]:
    """Return the answers that stand in the passage, each once under SQuAD's normalisation (section 3.1.2)."""
    kept: dict[str, str] = {}
    for answer in answers:
        if answer in passage.text and normalize_answer(answer) not in ("", normalize_answer(passage.title)):
            kept.setdefault(normalize_answer(answer), answer)
    return list(kept.values())


def _question(text: str) -> str:
    text = " ".join(str(text).split()).strip("\"'“”")
    if is_null(text):
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
