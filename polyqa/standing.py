"""Whether a question is answered, and what is said where it is not: the same words for all programs."""

import re
from collections.abc import Sequence
from typing import Literal

from polyqa.base.text import counted
from polyqa.base.values import Interpretation, Passage
from polyqa.colbert_index import ColBERTIndex
from polyqa.extractive import MODEL_NAME
from polyqa.extractive.planted import as_evidence
from polyqa.metrics.text import around, names_and_numbers, sentence_at
from polyqa.models import SpanReader
from polyqa.programs.citation import without_footnotes
from polyqa.reports.marks import sentence_of

from .confidence import SPANS, mentions

Standing = Literal["answered", "unsure", "unanswered"]
SURE, LEAST = 0.5, 0.23
"""From which confidence on a reading answers the question, and below which it is not told, see `lab/confidence.py`."""
CLOSEST = 3
"""How many sentences are quoted as the closest."""
_READ = 5  # passages in which they are looked for


def standing_of(confidence: Sequence[float | None], least: float = LEAST) -> Standing:
    """Return how a question stands whose readings are so sure; the surest one decides.

    A reading that cites no passage (``None``) is never sure, and never left out by ``least`` up to its default.
    """
    if not confidence:
        return "unanswered"
    surest = max(LEAST if sure is None else sure for sure in confidence)
    return "unanswered" if surest < least else "answered" if surest >= SURE else "unsure"


def unanswered(
    question: str, index: ColBERTIndex | None, passages: Sequence[Passage], reader: SpanReader, *, quotes: bool = False
) -> str:
    """Return what is said where no answer was found, in lines: the sentences that come closest, and what to try.

    Names and numbers of the question that the passages lack are named; if they lack all of them, nothing is quoted.

    It does not say that the documents hold no answer: a small model misses some, those to "how" and "why" above all.
    Of the questions over ten folders of documents that it missed, the sentences held the answer to seven of ten.

    Parameters
    ----------
    question
        What was asked.
    index
        What was searched; ``None`` if that is not known.
    passages
        The best first, as they are numbered.
    reader
        Says in which sentences an answer is likeliest.
    quotes
        Whether a yes or a no was asked of the embedded engine, which quotes: that is said if nothing is lacking.
    """
    where = f"“{index.name}” ({counted(len(index), 'passage')} searched)" if index else "the documents"
    lines, advice = [f"No answer found in {where}."], "Try other words, another index or another language model."
    lacking = unnamed(question, passages) if passages else []
    if quotes and not lacking:
        lines = [f"{MODEL_NAME} quotes passages and cannot say yes or no."]
        advice = "Ask who, what, when or where, or ask a language model (--lm)."
    if lacking:
        names = " or ".join(dict.fromkeys(f"“{name}”" for name in lacking))
        lines.append(f"None of the passages that come closest mentions {names}.")
    all_lacking = lacking and len(lacking) == len(names_and_numbers(question))
    if not all_lacking and (quoted := closest(question, passages, reader)):
        lines += ["The closest sentences:", *quoted]
    return "\n".join([*lines, advice])


def unnamed(question: str, passages: Sequence[Passage]) -> list[str]:
    """Return the names and numbers of a question that stand in none of the best passages.

    >>> unnamed("What is Mongolia's capital?", [Passage(pid="1", text="Lima is the capital of Peru.")])
    ['Mongolia']
    """
    there = [passage.indexed_text for passage in passages[:_READ]]
    names = [re.sub(r"['’]s?$", "", name) for name in names_and_numbers(question)]
    return [name for name in names if not any(mentions(text, name) for text in there)]


def closest(question: str, passages: Sequence[Passage], reader: SpanReader) -> list[str]:
    """Return the sentences of passages in which an answer is likeliest, quoted, with title and number."""
    read = [as_evidence(passage) for passage in passages[:_READ]]
    readings = reader.read([(question, passage.text) for passage in read], keep=SPANS)
    candidates: list[tuple[float, str]] = []
    for number, (passage, reading) in enumerate(zip(read, readings, strict=True), 1):
        for span in reading.spans:
            sentence = without_footnotes(around(sentence_at(passage.text, span.start), span.start), [passage])
            quoted = _titled(passage.title or passage.place or "", f"“{sentence}” [{number}]")
            candidates.append((reading.null_score - span.score, quoted))
    return list(dict.fromkeys(quoted for _, quoted in sorted(candidates, key=lambda candidate: candidate[0])))[:CLOSEST]


def _titled(title: str, quoted: str) -> str:
    return f"{title}: {quoted}" if title else quoted


def unsure(readings: Sequence[Interpretation], passages: Sequence[Passage], answer: str) -> str:
    """Return what is said where no reading is sure, in lines: their sentences, else the program's ``answer``."""
    by_pid = {passage.pid: (number, as_evidence(passage)) for number, passage in enumerate(passages, 1)}
    quoted: dict[str, None] = {}
    for reading in readings:
        number, passage = by_pid.get(reading.pid or "", (0, None))
        if passage is not None and (sentence := sentence_of(passage.text, reading.answer)):
            quoted[_titled(passage.title, f"“{without_footnotes(sentence, [passage])}” [{number}]")] = None
    return "\n".join(["Not sure: the passages may mean something else.", *(quoted or [answer])]).strip()
