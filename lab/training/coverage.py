"""AC@5 and MRecall@5 of a late-interaction model by exact MaxSim over a pool per question."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polyqa.colbert_index.bm25 import nearest_by_words
from polyqa.metrics.answer_coverage import answer_coverage
from polyqa.metrics.answer_match import has_answer
from polyqa.metrics.mrecall import mrecall

from .late_interaction import LateInteraction, maxsim
from .questions import Asked


@dataclass(frozen=True, slots=True)
class Pool:
    """A question, its answers, and the passages to rank."""

    question: str
    answers: tuple[tuple[str, ...], ...]
    passages: tuple[str, ...]


@dataclass(frozen=True)
class Coverage:
    """Means in percent over ambiguous questions, see `answer_coverage` and `mrecall`."""

    questions: int
    ac_at_5: float
    mrecall_at_5: float


def make_pools(
    asked: Sequence[Asked], near: NDArray[np.int64], passages: Sequence[str], *, depth: int = 50
) -> list[Pool]:
    """Return for each ambiguous question what is near by meaning or by words.

    Parameters
    ----------
    asked
        Questions; readings (one answer) are passed over.
    near
        Per question the nearest passages' positions.

    Answers that no passage of the pool holds are left out: no ranking finds them.
    """
    ambiguous = [(one, own) for one, own in zip(asked, near, strict=True) if len(one.answers) > 1]
    lexical = nearest_by_words(passages, [one.question for one, _ in ambiguous], depth)
    pools = []
    for (one, by_meaning), by_words in zip(ambiguous, lexical, strict=True):
        chosen = dict.fromkeys([*by_meaning[:depth].tolist(), *by_words])
        texts = tuple(passages[position] for position in chosen)
        answers = tuple(group for group in one.answers if any(has_answer(group, text) for text in texts))
        if answers:
            pools.append(Pool(one.question, answers, texts))
    return pools


def measure(model: LateInteraction, pools: Sequence[Pool], batch_size: int = 32) -> Coverage:
    """Return the coverage of the five best passages of each pool."""
    ranked = [
        (pool.answers, [pool.passages[position] for position in order])
        for pool, order in zip(pools, rank(model, pools, batch_size), strict=True)
    ]
    count = max(1, len(pools))
    covered, whole = (sum(metric(*one, 5) for one in ranked) for metric in (answer_coverage, mrecall))
    return Coverage(len(pools), 100 * covered / count, 100 * whole / count)


def rank(model: LateInteraction, pools: Sequence[Pool], batch_size: int = 32) -> list[list[int]]:
    """Return per pool its passages' positions, best first; every passage is encoded once."""
    import torch

    texts = sorted({text for pool in pools for text in pool.passages}, key=len)
    model.module.eval()
    device = next(model.module.parameters()).device.type
    vectors: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}
    with torch.inference_mode(), torch.autocast(device, torch.bfloat16):
        for begin in range(0, len(texts), batch_size):
            batch = texts[begin : begin + batch_size]
            tokens = model.document_tokens(batch)
            found = model.vectors(tokens).to("cpu", torch.float16)
            for text, own, counted in zip(batch, found, tokens.counted, strict=True):
                vectors[text] = (own[counted], counted)
    ranked = []
    with torch.inference_mode():
        for pool in pools:
            with torch.autocast(device, torch.bfloat16):
                query = model.vectors(model.query_tokens([pool.question])).cpu()
            documents = torch.nn.utils.rnn.pad_sequence(
                [vectors[t][0].float() for t in pool.passages], batch_first=True
            )
            counted = documents.abs().sum(dim=-1) > 0
            scores = maxsim(query.float(), documents, counted)[0]
            ranked.append(torch.argsort(-scores, stable=True).tolist())
    return ranked
