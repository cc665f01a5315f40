"""The batches of ColBERT's training, and what a batch loses.

Late interaction (MaxSim) with in-batch and mined hard negatives, and distillation: the student's ranking of a batch is
drawn towards that of the sentence encoder, which was trained on a billion pairs and knows more about what is near than
a few thousand questions can tell, and its ranking of a question's own passages towards their grades (see `teaching`).
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from polyqa.metrics.answer_match import has_answer
from polyqa.models.encoder import Encoder

from .late_interaction import LateInteraction, maxsim
from .mining import Query

_TEACHER_SCALE = 20.0  # all-MiniLM-L6-v2 was trained with cosine × 20 in its softmax


@dataclass(frozen=True, slots=True)
class Graded:
    """Some documents of a batch with their grades for one of its queries."""

    row: int
    columns: tuple[int, ...]
    grades: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One batch: queries, documents (query i's positive is document i), pairs that say nothing, and grades."""

    queries: tuple[str, ...]
    documents: tuple[str, ...]
    unsure: tuple[tuple[int, int], ...]
    graded: tuple[Graded, ...] = ()


def epoch_steps(queries: Sequence[Query], batch_size: int, chance: random.Random, list_size: int = 8) -> list[Step]:
    """Return the batches of one epoch: per query one positive and one hard negative, both drawn.

    A graded query brings ``list_size`` of its documents, so fewer of them share a batch. A document of another
    query that holds one of a query's answers is neither positive nor negative: such pairs are left out of
    the loss.
    """
    steps = []
    for source, graded in sorted({(query.source, bool(query.grades)) for query in queries}):
        own = [query for query in queries if (query.source, bool(query.grades)) == (source, graded)]
        size = max(2, 2 * batch_size // list_size) if graded else batch_size
        chance.shuffle(own)
        for begin in range(0, len(own) - len(own) % size or len(own), size):
            steps.append(_step(own[begin : begin + size], chance, list_size))
    chance.shuffle(steps)
    return steps


def _step(queries: Sequence[Query], chance: random.Random, list_size: int) -> Step:
    first = [_early(query.positives, chance) for query in queries]
    documents = list(first)
    graded = []
    for row, query in enumerate(queries):
        texts = (*query.positives, *query.negatives)
        if not query.grades:
            documents += [_early(query.negatives, chance)] if query.negatives else []
            continue
        others = [place for place, text in enumerate(texts) if text != first[row]]
        chosen = chance.sample(others, min(len(others), list_size - 1))
        columns = (row, *range(len(documents), len(documents) + len(chosen)))
        documents += [texts[place] for place in chosen]
        graded.append(Graded(row, columns, tuple(query.grades[p] for p in (texts.index(first[row]), *chosen))))
    unsure = tuple(
        (row, column)
        for row, query in enumerate(queries)
        for column, text in enumerate(documents)
        if column != row and (text == first[row] or text in query.positives or has_answer(query.answers, text))
    )
    return Step(tuple(query.question for query in queries), tuple(documents), unsure, tuple(graded))


def _early(texts: Sequence[str], chance: random.Random) -> str:
    # The first are the nearest: the surest positives and the hardest negatives.
    return texts[min(chance.randrange(len(texts)), chance.randrange(len(texts)))]


def step_loss(model: LateInteraction, step: Step, encoder: Encoder, distill: float) -> Any:
    """Return cross entropy over the batch's documents plus the divergences from the teachers' rankings.

    Parameters
    ----------
    encoder
        Ranks all documents of the batch; grades rank each query's own.
    distill
        Weight of the divergence from the encoder's ranking.

    Returns
    -------
    tensor
        A scalar.
    """
    import torch

    queries = model.vectors(model.query_tokens(step.queries))
    documents, counted = model.document_vectors(step.documents)
    with torch.autocast(queries.device.type, enabled=False):
        scores = maxsim(queries, documents, counted)
        if step.unsure:
            rows, columns = zip(*step.unsure, strict=True)
            barred = torch.zeros_like(scores, dtype=torch.bool)
            barred[list(rows), list(columns)] = True
            known = scores.masked_fill(barred, -1e4)
        else:
            known = scores
        loss = torch.nn.functional.cross_entropy(known, torch.arange(len(step.queries), device=scores.device))
        if distill:
            wanted = torch.from_numpy(encoder.similarity(step.queries, step.documents)).to(scores.device)
            target = torch.softmax(_TEACHER_SCALE * wanted, dim=1)
            loss = loss + distill * torch.nn.functional.kl_div(
                torch.log_softmax(scores, dim=1), target, reduction="batchmean"
            )
        for one in step.graded:
            own = torch.log_softmax(scores[one.row, list(one.columns)], dim=0)
            target = torch.softmax(torch.tensor(one.grades, device=scores.device), dim=0)
            loss = loss + torch.nn.functional.kl_div(own, target, reduction="sum") / len(step.graded)
    return loss
