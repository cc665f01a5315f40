"""AC@5 and MRecall@5 of a late-interaction model by exact MaxSim over a pool per question."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .late_interaction import LateInteraction, maxsim
from .lexical import Lexical
from .questions import Asked
from .text import holds_answer


@dataclass(frozen=True, slots=True)
class Pool:
    """A question, its answers, and the passages to rank."""

    question: str
    answers: tuple[tuple[str, ...], ...]
    passages: tuple[str, ...]


@dataclass(frozen=True)
class Coverage:
    """Shares in percent: answers that the first five hold, and MRecall@5 (all answers, or five of them)."""

    questions: int
    ac_at_5: float
    mrecall_at_5: float


def make_pools(
    wanted: Sequence[Asked],
    asked: Sequence[Asked],
    near: NDArray[np.int64],
    passages: Sequence[str],
    *,
    depth: int = 50,
) -> list[Pool]:
    """Return for each ambiguous question what is near by meaning or by words.

    Parameters
    ----------
    wanted
        Some of ``asked``; readings (one answer) are passed over.
    near
        Per question of ``asked`` the nearest passages' positions.

    Answers that no passage of the pool holds are left out: no ranking finds them.
    """
    place = {id(one): position for position, one in enumerate(asked)}
    ambiguous = [one for one in wanted if len(one.answers) > 1]
    lexical = Lexical(passages).search([one.question for one in ambiguous], depth)
    pools = []
    for one, by_words in zip(ambiguous, lexical, strict=True):
        chosen = dict.fromkeys([*near[place[id(one)]][:depth].tolist(), *by_words])
        texts = tuple(passages[position] for position in chosen)
        answers = tuple(group for group in one.answers if any(holds_answer(group, text) for text in texts))
        if answers:
            pools.append(Pool(one.question, answers, texts))
    return pools


def measure(model: LateInteraction, pools: Sequence[Pool], batch_size: int = 32) -> Coverage:
    """Return the coverage of the five best passages of each pool."""
    ranked = rank(model, pools, batch_size)
    shares, whole = [], []
    for pool, order in zip(pools, ranked, strict=True):
        first = [pool.passages[position] for position in order[:5]]
        covered = sum(any(holds_answer(group, text) for text in first) for group in pool.answers)
        shares.append(covered / len(pool.answers))
        whole.append(covered >= min(5, len(pool.answers)))
    count = max(1, len(pools))
    return Coverage(len(pools), 100 * sum(shares) / count, 100 * sum(whole) / count)


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
