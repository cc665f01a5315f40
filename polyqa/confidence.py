"""How sure one can be of a reading: what the embedded reader makes of its passage, and whether that is about it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp

from polyqa.base.values import Interpretation, Passage
from polyqa.metrics.text import content_words, holds, normalize_answer, several, without_marks
from polyqa.models import SpanReader
from polyqa.models.spans import Reading

SPANS = 5
"""How many spans of a passage are looked at."""
_NAME = re.compile(r"(?<=[\w,;:'’\"“(] )[^\W\d_a-z][\w'’.-]*[\w]|\d[\d.,]*\b")
_GENITIVE = re.compile(r"['’]s?\b")
_WORD = re.compile(r"\w+")
_STEM = 5


BIAS = -3.0
WEIGHTS = {"margin": 0.2, "asked": 0.1, "stated": 1.0, "named": 1.5, "worded": 1.5}
"""Of the logistic regression from `Signs` to whether a reading is right; `lab/confidence.py` fits them."""


@dataclass(frozen=True)
class Signs:
    """What speaks for a reading and against it.

    Attributes
    ----------
    margin
        The reader's score of the answer in the cited passage, asked the reading's question, less that of no answer: a
        difference of sums of two logits. Of the best span if the answer is none of the best `SPANS`.
    asked
        The same for the question that was asked.
    stated
        Whether the answer is one of the best spans.
    named
        Share of the names and numbers of the asked question that stand in the passage, in [0, 1]; 1 if it has none.
    worded
        Share of its content words that do.
    """

    margin: float
    asked: float
    stated: bool
    named: float
    worded: float

    @property
    def probability(self) -> float:
        """How likely the reading is right, by the fitted curve."""
        odds = BIAS + sum(weight * float(getattr(self, name)) for name, weight in WEIGHTS.items())
        return 1 / (1 + exp(-odds))


def confidence(
    question: str, readings: Sequence[Interpretation], passages: Sequence[Passage], reader: SpanReader
) -> list[float | None]:
    """Return how likely each reading is right, in [0, 1].

    ``None`` for one that the reader cannot judge: it cites no passage, or its answer does not stand in the passage word
    for word, as "Yes" and sums do not.
    """
    found = signs(question, readings, passages, reader)
    return [None if one is None else one.probability for one in found]


def signs(
    question: str, readings: Sequence[Interpretation], passages: Sequence[Passage], reader: SpanReader
) -> list[Signs | None]:
    """Return what speaks for each reading; ``None`` for one whose answer stands in no passage. One batch is read."""
    texts = {passage.pid: passage.indexed_text for passage in passages}
    judged = [reading.pid in texts and _stands(reading.answer, texts[reading.pid]) for reading in readings]
    cited = [(one, texts[one.pid or ""]) for one, known in zip(readings, judged, strict=True) if known]
    pairs = [pair for reading, text in cited for pair in ((reading.question, text), (question, text))]
    read = iter(reader.read(pairs, keep=SPANS))
    found = [_signs(question, reading.answer, text, next(read), next(read)) for reading, text in cited]
    each = iter(found)
    return [next(each) if known else None for known in judged]


def _stands(answer: str, text: str) -> bool:
    return any(holds(text, part, without_marks) for part in several(answer))


def _signs(question: str, answer: str, text: str, own: Reading, asked: Reading) -> Signs:
    margin, stated = _margin(answer, own)
    return Signs(
        margin, _margin(answer, asked)[0], stated, share(names_of(question), text), share(content_words(question), text)
    )


def _margin(answer: str, reading: Reading) -> tuple[float, bool]:
    wanted = [normalize_answer(part) for part in (several(answer) or [answer])]
    for span in reading.spans:
        text = normalize_answer(span.text)
        if text and any(text in answer or answer in text for answer in wanted if answer):
            return span.score - reading.null_score, True
    return max(reading.margin, -20.0), False


def names_of(question: str) -> list[str]:
    """Return the names and numbers of a question: words with a capital but the first one, and figures.

    >>> names_of("When was Falcon 4 released in Berlin?")
    ['Falcon', '4', 'Berlin']
    """
    return _NAME.findall(question)


def share(words: Sequence[str], text: str) -> float:
    """Return the share of some words that stand in a text, in [0, 1]; of long words the beginning is enough.

    >>> share(["Falcon", "4"], "Falcon 3 came in 2018."), share(["released"], "The release was late."), share([], "")
    (0.5, 1.0, 1.0)
    """
    if not words:
        return 1.0
    there = _stems(text)
    return sum(_stems(word) <= there for word in words) / len(words)


def _stems(text: str) -> set[str]:
    words = _WORD.findall(_GENITIVE.sub("", text.casefold()))
    return {word if word[0].isdigit() else word[:_STEM] for word in words}
