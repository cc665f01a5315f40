"""Reads a question against passages: which answer, how well supported."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from polyqa.embedded_models import Span

from .models import Models
from .prompt import PromptPassage
from .text import answer_kind, content_words, fits_kind, sentence_at


class Features(NamedTuple):
    """What speaks for or against an answer that a passage gives.

    Attributes
    ----------
    score
        The reader's best span, sum of two logits.
    null
        The reader's score of there being no answer, sum of two logits.
    similarity
        Cosine of question and passage.
    fit
        Whether the span is of the kind that is asked for.
    words
        Share of the question's content words in the title or the span's sentence.
    title
        Share of the title's content words in the question.
    rank
        Place of the passage in the prompt, from 0; 2 where the order means nothing.
    length
        Words of the span, up to 12.
    """

    score: float
    null: float
    similarity: float
    fit: float
    words: float
    title: float
    rank: float
    length: float


# Logistic regression over the answers to 200 ASQA and 90 homonyms training questions, as `python -m
# benchmarks.support` makes it (label: token F1 of at least 0.6 with a gold answer; area under the ROC curve 0.88).
BIAS = -2.84
WEIGHTS = Features(
    score=0.25, null=-0.165, similarity=2.062, fit=0.366, words=0.613, title=0.552, rank=-0.289, length=-0.157
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
    support
        How sure it is that this is an answer to the question, in (0, 1).
    features
        What the support is made of.
    """

    passage: PromptPassage
    span: Span
    support: float
    features: Features


def gather(
    question: str,
    passages: Sequence[PromptPassage],
    models: Models,
    *,
    keep: int = 1,
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
    similarities = models.encoder.similarity([question], shown)[0]
    kind = answer_kind(question)
    asked = set(content_words(question))
    found = []
    for rank, (passage, reading, similarity) in enumerate(zip(passages, readings, similarities, strict=True)):
        title = set(content_words(passage.title))
        for span in reading.spans:
            near = title | set(content_words(sentence_at(passage.text, span.start).text))
            features = Features(
                score=span.score,
                null=reading.null_score,
                similarity=float(similarity),
                fit=float(fits_kind(span.text, kind)),
                words=len(asked & near) / max(1, len(asked)),
                title=len(asked & title) / max(1, len(title)),
                rank=rank if ranked else _USUAL_RANK,
                length=min(_LONGEST, len(span.text.split())),
            )
            found.append(Evidence(passage, span, _support(features), features))
    return sorted(found, key=lambda evidence: -evidence.support)


def _support(features: Features) -> float:
    score = BIAS + sum(weight * value for weight, value in zip(WEIGHTS, features, strict=True))
    return 1 / (1 + math.exp(-score))
