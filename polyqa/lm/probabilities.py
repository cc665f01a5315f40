"""How sure a language model is of a label: the probability that it gave to Yes."""

import math
from collections.abc import Mapping
from typing import Any

import dspy

from .recorder import member

ASKED: Mapping[str, Any] = {"logprobs": True, "top_logprobs": 20}
_LABELS = ("yes", "no")


def gives_probabilities(lm: object) -> bool:
    """Return whether a language model tells the probabilities of its tokens, as far as DSPy knows."""
    if getattr(lm, "gives_probabilities", False):
        return True
    return isinstance(lm, dspy.LM) and isinstance(lm.engine, str) and "top_logprobs" in lm.supported_params


def probability_of_yes(prediction: dspy.Prediction, label: str) -> float:
    """Return the probability of Yes against No at the first place where the reply says either, in [0, 1].

        P(Yes) / (P(Yes) + P(No))

    Small models say Yes too readily; how readily tells more than the word itself. The label that the reply says counts
    as certain where there are no probabilities. The language model must have been asked for `ASKED`.
    """
    tokens = member(prediction.get("logprobs"), "content") or ()
    for token in tokens:
        if str(member(token, "token")).strip().lower() in _LABELS:
            sums = dict.fromkeys(_LABELS, 0.0)
            for other in member(token, "top_logprobs") or ():
                name = str(member(other, "token")).strip().lower()
                if name in sums:
                    sums[name] += math.exp(float(member(other, "logprob")))
            if total := sum(sums.values()):
                return sums["yes"] / total
    return float(label == "Yes")


def probability_of_first(prediction: dspy.Prediction, token: str) -> float:
    """Return the probability that a reply begins with a token of the model's, in [0, 1]; 0 where it is not told.

    A grammar may have kept it from writing the token. The language model must have been asked for `ASKED`.
    """
    first = next(iter(member(prediction.get("logprobs"), "content") or ()), None)
    candidates = member(first, "top_logprobs") or ()
    return sum(math.exp(float(member(other, "logprob"))) for other in candidates if member(other, "token") == token)
