"""Decompose, filter, recompose: CRAG's refinement of passages (section 4.4)."""

from collections.abc import Sequence

import numpy as np

from polyqa.base.values import Passage
from polyqa.colbert_index import Reranker
from polyqa.metrics.text import sentences_by_shape


def decompose(passage: Passage, sentences: int = 2) -> list[Passage]:
    """Cut a passage into strips of so many sentences; a shorter passage is one strip.

    Each strip bears the passage's id and title.
    """
    parts = [sentence.text for sentence in sentences_by_shape(passage.text)]
    strips = [" ".join(parts[at : at + sentences]) for at in range(0, len(parts), sentences)]
    return [passage.model_copy(update={"text": strip}) for strip in strips]


def refine(
    reranker: Reranker,
    question: str,
    passages: Sequence[Passage],
    *,
    keep: int,
    threshold: float,
    sentences: int = 2,
) -> list[Passage]:
    """Return the passages with nothing but their relevant strips.

    Parameters
    ----------
    reranker
        Scores the strips against the question.
    keep
        How many strips of all passages together are kept at most.
    threshold
        What a strip must score at least.
    sentences
        See `decompose`.

    Returns
    -------
    list of Passage
        In the given order, under their ids, with the kept strips in the order of the text and the best
        strip's score; passages without a kept strip are left out.
    """
    strips = [(at, strip) for at, passage in enumerate(passages) for strip in decompose(passage, sentences)]
    if not strips:
        return []
    scores = reranker.score([question], [strip for _, strip in strips])[0]
    best = [int(index) for index in np.argsort(-scores, kind="stable")[:keep] if scores[index] >= threshold]
    refined = []
    for at, passage in enumerate(passages):
        own = sorted(index for index in best if strips[index][0] == at)
        if own:
            text = " ".join(strips[index][1].text for index in own)
            score = float(max(scores[index] for index in own))
            refined.append(passage.model_copy(update={"text": text, "score": score}))
    return refined
