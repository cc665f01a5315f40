"""Decompose, filter, recompose: CRAG's refinement of passages (section 4.4)."""

from collections.abc import Sequence

import numpy as np

from polyqa.base.values import Passage
from polyqa.colbert_index import Reranker
from polyqa.metrics.text import sentences_by_shape

_SENTENCES = 2  # in a strip; the paper says a few
_LOWEST = -0.5  # score of a strip that is kept, the paper's on a scale from -1 to 1; a cosine seldom falls below it


def decompose(passage: Passage) -> list[Passage]:
    """Cut a passage into strips of two sentences, each with its id and title; a shorter passage is one strip."""
    parts = [sentence.text for sentence in sentences_by_shape(passage.text)]
    strips = [" ".join(parts[at : at + _SENTENCES]) for at in range(0, len(parts), _SENTENCES)]
    return [passage.model_copy(update={"text": strip}) for strip in strips]


def refine(reranker: Reranker, question: str, passages: Sequence[Passage], *, keep: int) -> list[Passage]:
    """Return the passages with nothing but their relevant strips.

    Parameters
    ----------
    reranker
        Scores the strips against the question.
    keep
        How many strips of all passages together are kept at most.

    Returns
    -------
    list of Passage
        In the given order, under their ids, with the kept strips in the order of the text and the best
        strip's score; passages without a kept strip are left out.
    """
    strips = [(at, strip) for at, passage in enumerate(passages) for strip in decompose(passage)]
    if not strips:
        return []
    scores = reranker.score([question], [strip for _, strip in strips])[0]
    best = [int(index) for index in np.argsort(-scores, kind="stable")[:keep] if scores[index] >= _LOWEST]
    refined = []
    for at, passage in enumerate(passages):
        places = sorted(index for index in best if strips[index][0] == at)
        if places:
            text = " ".join(strips[index][1].text for index in places)
            score = float(max(scores[index] for index in places))
            refined.append(passage.model_copy(update={"text": text, "score": score}))
    return refined
