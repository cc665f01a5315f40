import math
from typing import Any

import dspy
import pytest

from polyqa.lm.probabilities import gives_probabilities, probability_of_yes


def token(text: str, **others: float) -> dict[str, Any]:
    """Return a token as OpenAI's API tells it, with the probabilities of the likeliest ones."""
    top = [{"token": name.replace("_", " "), "logprob": math.log(value)} for name, value in others.items()]
    return {"token": text, "logprob": 0.0, "top_logprobs": top}


@pytest.mark.parametrize(
    ("tokens", "label", "probability"),
    [
        ([token("Yes", Yes=0.6, No=0.2)], "Yes", 0.75),
        ([token("No", Yes=0.2, No=0.6)], "No", 0.25),
        ([token(" yes", _yes=0.3, YES=0.3, No=0.2, Maybe=0.2)], "Yes", 0.75),  # however it is written
        ([token("holds", holds=1.0), token("No", No=0.9, Yes=0.1)], "No", 0.1),
        ([token("Yes", Yes=0.9, No=0.1), token("No", No=1.0)], "Yes", 0.9),  # the first place counts
        ([token("Yes", Yes=1.0)], "Yes", 1.0),
        ([token("No", No=1.0)], "No", 0.0),
        ([token("Yes")], "No", 0.0),  # no probabilities: the label
        ([token("Perhaps", Yes=0.9, No=0.1)], "Yes", 1.0),
        ([], "Yes", 1.0),
        ([], "", 0.0),
        (None, "No", 0.0),
    ],
)
def test_the_probability_of_yes(tokens: list[Any] | None, label: str, probability: float) -> None:
    made = dspy.Prediction(holds=label)
    if tokens is not None:
        made.logprobs = {"content": tokens}
    assert probability_of_yes(made, label) == pytest.approx(probability)


@pytest.mark.parametrize(
    ("lm", "gives"),
    [(dspy.LM("openai/gpt-4o-mini"), True), (dspy.LM("anthropic/claude-3-5-haiku-latest"), False), (None, False)],
)
def test_who_gives_probabilities(lm: dspy.LM | None, gives: bool) -> None:
    assert gives_probabilities(lm) is gives
