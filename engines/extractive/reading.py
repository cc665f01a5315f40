"""Reads a question against passages: which answer, how well supported."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from embedded_models import Span

from .models import Models
from .prompt import PromptPassage
from .text import answer_kind, fits_kind

# Weights of the support score, fitted by hand on 500 questions of ASQA's training set.
_MARGIN_WEIGHT = 0.25
_SIMILARITY_WEIGHT = 6.0
_SUPPORT_BIAS = -3.0
_MISFIT_PENALTY = 2.0


@dataclass(frozen=True)
class Evidence:
    """An answer that a passage gives to a question.

    Attributes
    ----------
    passage, span
        Where the answer stands; offsets are into the passage's text.
    support
        How sure it is that the passage answers the question, in (0, 1): a logistic of the reader's
        margin over its null answer, the encoder's similarity and the fit of the answer's kind.
    """

    passage: PromptPassage
    span: Span
    support: float


def gather(question: str, passages: Sequence[PromptPassage], models: Models, *, keep: int = 1) -> list[Evidence]:
    """Return the answers of all passages to a question, best supported first.

    Parameters
    ----------
    keep
        How many answers to take from one passage.
    """
    if not passages:
        return []
    readings = models.reader.read([(question, passage.text) for passage in passages], keep=keep)
    shown = [f"{passage.title} | {passage.text}" if passage.title else passage.text for passage in passages]
    similarities = models.encoder.similarity([question], shown)[0]
    kind = answer_kind(question)
    found = []
    for passage, reading, similarity in zip(passages, readings, similarities, strict=True):
        for span in reading.spans:
            margin = span.score - reading.null_score
            score = _SUPPORT_BIAS + _MARGIN_WEIGHT * margin + _SIMILARITY_WEIGHT * float(similarity)
            score -= 0.0 if fits_kind(span.text, kind) else _MISFIT_PENALTY
            found.append(Evidence(passage, span, 1 / (1 + math.exp(-score))))
    return sorted(found, key=lambda evidence: -evidence.support)
