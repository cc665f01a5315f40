"""The evidence for an answer: what the reader finds in passages, how well supported, and what of it tells something."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from polyqa.metrics.text import content_words, holds, normalize_words, sentence_at
from polyqa.models import Encoder, Reader, Span, Writer

from .answer_kinds import answer_kind, fits_kind, names_and_figures
from .answers import whole_answer
from .prompt import PromptPassage

SPANS = 3
"""How many answers are taken from one passage."""
WORTH_TELLING = 0.35
"""An answer beside the best one is told if its support is at least this part of the best one's."""


@dataclass(frozen=True)
class Models:
    """The sentence encoder, the span reader and the writer of questions.

    They load on first use and remember what they saw.
    """

    encoder: Encoder
    reader: Reader
    writer: Writer = field(default_factory=Writer)


class Features(NamedTuple):
    """What speaks for or against an answer that a passage gives.

    Attributes
    ----------
    score
        The reader's score of the span, sum of two logits.
    null
        The reader's score of there being no answer, sum of two logits.
    beside
        Whether a better span of the passage stands in the same sentence: most often a part of the same fact.
    similarity
        Cosine of question and passage.
    sentence
        Cosine of question and the span's sentence, with the title before it.
    fit
        Whether the span is of the kind that is asked for.
    words
        Share of the question's content words in the title or the span's sentence.
    named
        Share of the question's names and figures in the title or the passage; 1 if it has none.
    title
        Share of the title's content words in the question.
    rank
        Place of the passage in the prompt, from 0; 2 where the order means nothing.
    length
        Words of the answer, up to 12.
    """

    score: float
    null: float
    beside: float
    similarity: float
    sentence: float
    fit: float
    words: float
    named: float
    title: float
    rank: float
    length: float


# Logistic regression over the answers to ASQA's and homonyms' training questions (label: the answer is one of the gold
# answers).
BIAS = -5.78
WEIGHTS = Features(
    score=0.287,
    null=-0.087,
    beside=-0.276,
    similarity=2.27,
    sentence=2.045,
    fit=0.797,
    words=0.166,
    named=0.735,
    title=0.349,
    rank=-0.191,
    length=-0.338,
)
_USUAL_RANK = 2.0
_LONGEST = 12


@dataclass(frozen=True)
class Evidence:
    """An answer that a passage gives to a question.

    Attributes
    ----------
    passage, span
        Where the answer stands; offsets are into the passage's text.
    answer
        The span made a whole answer, see `answers.whole_answer`.
    support
        How sure it is that this is an answer to the question, in (0, 1).
    features
        What the support is made of.
    """

    passage: PromptPassage
    span: Span
    answer: str
    support: float
    features: Features


def gather(
    question: str,
    passages: Sequence[PromptPassage],
    models: Models,
    *,
    keep: int = SPANS,
    ranked: bool = True,
) -> list[Evidence]:
    """Return the answers of all passages to a question, best supported first.

    Parameters
    ----------
    keep
        How many answers to take from one passage.
    ranked
        Whether the passages are in the order of their relevance to this very question.
    """
    if not passages:
        return []
    readings = models.reader.read([(question, passage.text) for passage in passages], keep=keep)
    shown = [f"{passage.title} {passage.text}".strip() for passage in passages]
    stated = [
        [f"{passage.title}: {sentence_at(passage.text, span.start).text}" for span in reading.spans]
        for passage, reading in zip(passages, readings, strict=True)
    ]
    texts = list(dict.fromkeys([*shown, *chain.from_iterable(stated)]))
    near = dict(zip(texts, models.encoder.similarity([question], texts)[0], strict=True))
    kind = answer_kind(question)
    asked, named = set(content_words(question)), names_and_figures(question)
    found = []
    for rank, (passage, reading, told) in enumerate(zip(passages, readings, stated, strict=True)):
        known = set(content_words(shown[rank]))
        title = set(content_words(passage.title))
        for span, sentence in zip(reading.spans, told, strict=True):
            answer = whole_answer(question, passage.text, span)
            features = Features(
                score=span.score,
                null=reading.null_score,
                beside=float(span is not reading.spans[0] and sentence == told[0]),
                similarity=float(near[shown[rank]]),
                sentence=float(near[sentence]),
                fit=float(fits_kind(answer, kind)),
                words=len(asked & set(content_words(sentence))) / max(1, len(asked)),
                named=len(named & known) / len(named) if named else 1.0,
                title=len(asked & title) / max(1, len(title)),
                rank=rank if ranked else _USUAL_RANK,
                length=min(_LONGEST, len(answer.split())),
            )
            found.append(Evidence(passage, span, answer, _support(features), features))
    return sorted(found, key=lambda evidence: -evidence.support)


def _support(features: Features) -> float:
    score = BIAS + sum(weight * value for weight, value in zip(WEIGHTS, features, strict=True))
    return 1 / (1 + math.exp(-score))


def best_support(question: str, passages: Sequence[PromptPassage], models: Models) -> float:
    """Return the support of the best answer that passages give, in [0, 1)."""
    found = gather(question, passages, models, ranked=False)
    return found[0].support if found else 0.0


def same_answer(left: str, right: str) -> bool:
    """Return whether one of two answers holds the other."""
    return holds(left, right) or holds(right, left)


def says_something(answer: str, question: str) -> bool:
    """Return whether an answer has words, and not only some that stand in the question."""
    return bool(normalize_words(answer)) and not holds(question, answer)


def telling(question: str, found: Iterable[Evidence]) -> list[Evidence]:
    """Return the evidence whose answers are of the kind that is asked for and say something."""
    kind = answer_kind(question)
    return [one for one in found if fits_kind(one.answer, kind) and says_something(one.answer, question)]


def distinct(found: Iterable[Evidence]) -> list[Evidence]:
    """Return the first evidence of each answer."""
    kept: list[Evidence] = []
    for one in found:
        if not any(same_answer(one.answer, other.answer) for other in kept):
            kept.append(one)
    return kept
