"""How much of a prompt a provider has seen before: what it may have cached, and bills at a lower price."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import takewhile

from .dry_run import DryCall, DryRun
from .tokens import Tokenizer

_Encoded = Sequence[tuple[str, Sequence[int]]]


def repeated_tokens(runs: Sequence[DryRun], tokenizer: Tokenizer) -> list[list[int]]:
    """Return for every call of every run how many of its first tokens an earlier prompt begins with.

    Earlier are the prompts of the same question's earlier round trips, and all prompts of the other questions: as if
    they had been asked shortly before. Only prompts of the same step and language model are compared.

    Parameters
    ----------
    runs
        One for each question.
    tokenizer
        Counts.
    """
    alike: dict[tuple[str, str | None], list[tuple[int, DryCall, _Encoded]]] = defaultdict(list)
    for number, run in enumerate(runs):
        for call in run.calls:
            encoded = [(role, tokenizer.encode(text).ids) for role, text in call.messages]
            alike[call.step, call.lm].append((number, call, encoded))
    found: dict[int, int] = {}
    for group in alike.values():
        for number, call, own in group:
            earlier = (other for at, one, other in group if at != number or one.began < call.began)
            found[id(call)] = max((_common(own, other) for other in earlier), default=0)
    return [[found[id(call)] for call in run.calls] for run in runs]


def _common(left: _Encoded, right: _Encoded) -> int:
    """Return how many tokens two prompts begin alike with."""
    total = 0
    for (role, ids), (other_role, other_ids) in zip(left, right, strict=False):
        if role != other_role:
            break
        if ids == other_ids:
            total += len(ids)
            continue
        pairs = zip(ids, other_ids, strict=False)
        return total + sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return total
