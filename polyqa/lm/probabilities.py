"""How sure a language model is of a label: the probability that it gave to Yes."""

import math
from collections.abc import Mapping
from typing import Any

import dspy

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

    Small models say Yes too readily; how readily tells more than the word itself.

    Parameters
    ----------
    prediction
        Of a call whose language model was asked for `ASKED`.
    label
        What the reply says; it counts as certain where there are no probabilities.
    """
    tokens = _value(prediction.get("logprobs"), "content") or ()
    for token in tokens:
        if str(_value(token, "token")).strip().lower() in _LABELS:
            sums = dict.fromkeys(_LABELS, 0.0)
            for other in _value(token, "top_logprobs") or ():
                name = str(_value(other, "token")).strip().lower()
                if name in sums:
                    sums[name] += math.exp(float(_value(other, "logprob")))
            if total := sum(sums.values()):
                return sums["yes"] / total
    return float(label == "Yes")


def probability_of_first(prediction: dspy.Prediction, token: str) -> float:
    """Return the probability that a reply begins with a token, in [0, 1]; 0 where it is not told.

    Parameters
    ----------
    prediction
        Of a call whose language model was asked for `ASKED`. A grammar may have kept it from writing the token.
    token
        The token, which must be one of the model's.
    """
    first = next(iter(_value(prediction.get("logprobs"), "content") or ()), None)
    logs = [
        _value(other, "logprob") for other in _value(first, "top_logprobs") or () if _value(other, "token") == token
    ]
    return sum(math.exp(float(log)) for log in logs)


def _value(of: Any, name: str) -> Any:
    return of.get(name) if isinstance(of, Mapping) else getattr(of, name, None)
