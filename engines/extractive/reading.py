"""Reads a question against passages: which answer, how well supported."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from embedded_models import Span

from .models import Models
from .prompt import PromptPassage
from .text import answer_kind, content_words, fits_kind, sentence_at

# Logistic regression over the answers to 300 ASQA and 90 homonyms training questions (label: token F1
# with a gold answer of at least 0.6; area under the ROC curve 0.85).
_BIAS = -4.58
_SCORE = 0.28  # the reader's best span, sum of two logits
_SIMILARITY = 1.83  # cosine of question and passage
_FIT = 0.77  # the span is of the kind that is asked for
_WORDS = 0.74  # share of the question's content words in the title or the span's sentence
_TITLE = 0.23  # share of the title's content words in the question
_RANK = -0.29  # place of the passage in the prompt, from 0
_LENGTH = -0.135  # words of the span, up to 12
_USUAL_RANK = 2.0


@dataclass(frozen=True)
class Evidence:
    """An answer that a passage gives to a question.

    Attributes
    ----------
    passage, span
        Where the answer stands; offsets are into the passage's text.
    support
        How sure it is that this is an answer to the question, in (0, 1).
    """

    passage: PromptPassage
    span: Span
    support: float


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
            score = (
                _BIAS
                + _SCORE * span.score
                + _SIMILARITY * float(similarity)
                + _FIT * fits_kind(span.text, kind)
                + _WORDS * len(asked & near) / max(1, len(asked))
                + _TITLE * len(asked & title) / max(1, len(title))
                + _RANK * (rank if ranked else _USUAL_RANK)
                + _LENGTH * min(12, len(span.text.split()))
            )
            found.append(Evidence(passage, span, 1 / (1 + math.exp(-score))))
    return sorted(found, key=lambda evidence: -evidence.support)
