"""How sure one can be of a reading: what the embedded reader makes of its passage, and whether that is about it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp

from polyqa.base.values import Interpretation, Passage
from polyqa.extractive.answer_kinds import asks_yes_or_no
from polyqa.metrics.agreement import says
from polyqa.metrics.text import content_words, holds, names_and_numbers, normalize_short, several, stems, without_marks
from polyqa.models import SpanReader
from polyqa.models.spans import Reading

_LEAST_MARGIN, _MOST_MARGIN = -6.0, 8.0
_MOST_MISSING = 3
_INITIALS = 5  # letters; longer words in capitals are shouted
_NEXT = r"[\w’'-]*\W+(?:(?:and|de|for|of|the)\W+)*"  # from one initial to the next, in a text
SPANS = 5
"""How many spans of a passage are looked at."""
# Taken for the margin of a "Yes" or "No", which a language model reads out of the passage and this reader cannot. Not
# fitted: with it, what decides is whether the passage has the names and most of the words of the question.
_UNREAD = 2.0
_SAYS_YES_OR_NO = re.compile(r"(?:yes|no)\b", re.I)

BIAS = -1.888
WEIGHTS = {"asked": 0.292, "missing": -0.97, "worded": 2.207}
"""Of the logistic regression from `Signs` to whether a reading is right; `lab/confidence.py` fits them."""
BIAS_OF_A_MODEL = -0.883
"""The same for what a language model tells: that it does is a sign of its own, and makes the odds 2.7 times as high."""
UNSEEN = 0.2
"""Of an answer that its passage does not have: of 33 of a small language model seven were right, see `lab/log.md`."""


@dataclass(frozen=True)
class Signs:
    """What speaks for a reading and against it.

    Attributes
    ----------
    asked
        The reader's score of the answer in the cited passage, asked the user's question, less that of no answer: a
        difference of sums of two logits, in [-6, 8]. Of the last of the best `SPANS` spans if the answer is none of
        them; 2 of a "Yes" or "No", for which the reader does not look.
    missing
        How many names and numbers of the question do not stand in the passage, at most 3.
    worded
        Share of the question's content words that stand there, in [0, 1].
    """

    asked: float
    missing: int
    worded: float

    def probability(self, bias: float) -> float:
        """Return how likely the reading is right, by the fitted curve."""
        odds = bias + sum(weight * getattr(self, name) for name, weight in WEIGHTS.items())
        return 1 / (1 + exp(-odds))


def confidence(
    question: str,
    readings: Sequence[Interpretation],
    passages: Sequence[Passage],
    reader: SpanReader,
    bias: float = BIAS,
) -> list[float | None]:
    """Return how likely each reading is right, in [0, 1], by the ``bias`` of what has told it.

    ``None`` for one that the reader cannot judge: it cites no passage, or its answer stands in the passage in other
    words. One of which the passage does not have the figures or most of the words gets `UNSEEN`. Of the "Yes" or "No"
    to a question that wants one the question's words alone speak.
    """
    texts = {passage.pid: passage.indexed_text for passage in passages}
    return [
        sign.probability(bias) if sign else _unread(reading.answer, texts.get(reading.pid or "", ""))
        for reading, sign in zip(readings, signs(question, readings, passages, reader), strict=True)
    ]


def _unread(answer: str, text: str) -> float | None:
    seen = not text or says(text, answer) or _SAYS_YES_OR_NO.match(answer)
    return None if seen else UNSEEN


def signs(
    question: str, readings: Sequence[Interpretation], passages: Sequence[Passage], reader: SpanReader
) -> list[Signs | None]:
    """Return what speaks for each reading; ``None`` for one whose answer stands in no passage. One batch is read."""
    texts = {passage.pid: passage.indexed_text for passage in passages}
    cited = [(reading.answer, texts.get(reading.pid or "", "")) for reading in readings]
    to_read = dict.fromkeys(text for answer, text in cited if _stands(answer, text))
    read = dict(zip(to_read, reader.read([(question, text) for text in to_read], keep=SPANS), strict=True))
    yes_or_no, question_words = asks_yes_or_no(question), content_words(question)

    def sign(answer: str, text: str) -> Signs | None:
        if yes_or_no and text and _SAYS_YES_OR_NO.match(answer):
            margin = _UNREAD
        elif _stands(answer, text):  # in the range in which they were fitted
            margin = min(max(_margin(answer, read[text]), _LEAST_MARGIN), _MOST_MARGIN)
        else:
            return None
        return Signs(margin, missing(question, text), share(question_words, text))

    return [sign(answer, text) for answer, text in cited]


def _stands(answer: str, text: str) -> bool:
    return any(holds(text, part, without_marks) for part in several(answer))


def _margin(answer: str, reading: Reading) -> float:
    answers = [normalize_short(part) for part in (several(answer) or [answer])]
    for span in reading.spans:
        text = normalize_short(span.text)
        if text and any(_within(text, answer) or _within(answer, text) for answer in answers if answer):
            return span.score - reading.null_score
    return reading.spans[-1].score - reading.null_score if reading.spans else _LEAST_MARGIN


def _within(part: str, text: str) -> bool:
    """Return whether a text has a part, and not a figure of it only a piece of one: "5 km" in "1.5 km"."""
    return part in text and re.search(rf"(?<![\d·−]){re.escape(part)}(?!·?\d)", text) is not None


def missing(question: str, text: str) -> int:
    """Return how many names and numbers of a question do not stand in a text, at most 3.

    >>> missing("When was Falcon 4 released?", "Falcon 3 was released in 2018.")
    1
    """
    return min(_MOST_MISSING, sum(not mentions(text, name) for name in names_and_numbers(question)))


def mentions(text: str, name: str) -> bool:
    """Return whether a text has a name or number, or the words of which a name has the initials.

    >>> [mentions(text, "UK") for text in ("The court of the United Kingdom sat.", "The court of Kent sat.")]
    [True, False]
    """
    initials = re.sub(r"['’]s?$|\.", "", name)
    short = initials.isupper() and initials.isalpha() and 1 < len(initials) <= _INITIALS
    spelt_out = re.findall(rf"\b{_NEXT.join(initials)}[\w’'-]*", text) if short else ()
    return stems(name) <= stems(text) or any(len(content_words(words)) >= len(initials) for words in spelt_out)


def share(words: Sequence[str], text: str) -> float:
    """Return the share of some words that stand in a text, in [0, 1]; of long words the beginning is enough.

    >>> share(["Falcon", "4"], "Falcon 3 came in 2018."), share(["released"], "The release was late."), share([], "")
    (0.5, 1.0, 1.0)
    """
    if not words:
        return 1.0
    there = stems(text)
    return sum(stems(word) <= there for word in words) / len(words)
