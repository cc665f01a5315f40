"""What a plan takes of a user of DSPy, and what it refuses before any call."""

from typing import Any

import dspy
import pytest

import polyqa
from polyqa.base.errors import PolyqaError
from polyqa.evaluation.loading import load_questions
from polyqa.metrics.optimizing import AnswerMetric
from polyqa.models import Reader
from polyqa.optimizers import Plan, recipe


def plan(reader: Reader, **given: Any) -> Plan:
    train, dev = load_questions("homonyms/train", limit=3), load_questions("homonyms/dev", limit=2)
    usual = {"trainset": train, "devset": dev, "recipe": "knn", "metric": AnswerMetric(reader)}
    return Plan(**{**usual, "lm": polyqa.embedded_lm(), **given})


def test_examples_and_the_name_of_a_recipe_are_taken(reader: Reader) -> None:
    questions = load_questions("homonyms/train", limit=3)
    made = plan(reader, trainset=[question.to_example() for question in questions])
    assert made.trainset == questions
    assert made.recipe == recipe("knn")
    assert made == plan(reader, recipe=recipe("knn"), metric=made.metric, lm=made.lm)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"metric": lambda gold, prediction, trace=None: 1.0}, r"not a function; Plan.of\(train, dev, metric\) takes"),
        ({"trainset": [dspy.Example(text="Who?")]}, r"trainset\[0\] has no question; it has text"),
        ({"devset": ["Who?"]}, r"devset\[0\] is a str; give dspy.Examples or Questions"),
        ({"recipe": "alchemy"}, "alchemy"),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_sentence(given: dict[str, Any], message: str, reader: Reader) -> None:
    with pytest.raises(PolyqaError, match=message) as error:
        plan(reader, **given)
    assert "\n" not in str(error.value)
