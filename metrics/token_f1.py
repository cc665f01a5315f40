"""Token F1 of a short answer."""

from collections import Counter
from collections.abc import Sequence

from .text import check_lists, normalize_answer


def token_f1(prediction: str, answers: Sequence[str]) -> float:
    """Return the best F1 of the bags of tokens of a short answer and an alias.

        P = |p ∩ a| / |p|,  R = |p ∩ a| / |a|,  F1 = 2PR / (P + R),  maximum over the aliases a

    with p and a the bags of tokens after normalisation (`text.normalize_answer`).

    Edge cases: where p or a is empty, F1 is 1.0 if both are, else 0.0; no alias gives 0.0. Source:
    SQuAD's script, as in ASQA's official scorer.

    >>> token_f1("Nagano", ["Tokyo", "Nagano, Japan"])
    0.6666666666666666
    """
    check_lists(answers)
    tokens = normalize_answer(prediction).split()
    return max((_f1(tokens, normalize_answer(answer).split()) for answer in answers), default=0.0)


def _f1(predicted: Sequence[str], gold: Sequence[str]) -> float:
    if not predicted or not gold:
        return float(not predicted and not gold)
    common = (Counter(predicted) & Counter(gold)).total()
    if not common:
        return 0.0
    precision, recall = common / len(predicted), common / len(gold)
    return 2 * precision * recall / (precision + recall)
