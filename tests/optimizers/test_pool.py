"""A predictor that is called several times in a run gives a demo for each of its labels."""

import enum
from collections import Counter
from pathlib import Path
from typing import Literal

import dspy
import pytest
from harness import ledger_rows

import polyqa
from polyqa import signatures
from polyqa.metrics.gold import Question
from polyqa.metrics.optimizing import AnswerMetric
from polyqa.optimizers.pool import bootstrap_pool, label_fields


@pytest.mark.parametrize(
    ("name", "predictor", "label"),
    [("crag", "grade", "grade"), ("self-rag", "draft", "relevant")],
)
def test_each_label_of_a_run_gets_its_first_demo(
    name: str,
    predictor: str,
    label: str,
    train: list[Question],
    embedded: dspy.LM,
    metric: AnswerMetric,
    tmp_path: Path,
) -> None:
    every = AnswerMetric(metric.reader, threshold=0.0)
    journal = tmp_path / "pool.sqlite"
    pool = bootstrap_pool(polyqa.load(name), train, lm=embedded, metric=every, journal=journal, threads=2)
    expected = []
    rows = ledger_rows(journal)
    for line in (rows[question.id] for question in train):
        own = [demo for at, demo in line["demos"] if at == predictor]
        expected += [demo for number, demo in enumerate(own) if demo[label] not in {one[label] for one in own[:number]}]
    assert pool[predictor] == expected
    assert len({demo[label] for demo in expected}) > 1
    assert max(Counter(demo["question"] for demo in expected).values()) > 1
    if "write" in pool:
        assert len(pool["write"]) == len(train)  # no labels: one demo for each run


def test_what_is_a_label_stands_in_the_signature() -> None:
    class Fruit(enum.Enum):
        APPLE = "apple"
        PEAR = "pear"

    class Own(dspy.Signature):
        """Sort it."""

        question: str = dspy.InputField()
        ripe: bool = dspy.OutputField()
        fruit: Fruit = dspy.OutputField()
        colour: Literal["red", "green"] | None = dspy.OutputField()
        kind: Fruit | None = dspy.OutputField()
        only: Literal["yes"] = dspy.OutputField()
        reasoning: str = dspy.OutputField()
        size: int = dspy.OutputField()
        fruits: list[Fruit] = dspy.OutputField()
        weight: float | None = dspy.OutputField()

    assert label_fields(Own) == ["ripe", "fruit", "colour", "kind", "only"]
    own = {
        name: label_fields(one)
        for name, one in vars(signatures).items()
        if isinstance(one, type) and issubclass(one, dspy.Signature)
    }
    assert {name: labels for name, labels in own.items() if labels} == {
        "CritiqueSegment": ["support", "usefulness"],
        "DecideRetrieval": ["needs_passages"],
        "DraftSegment": ["relevant"],
        "GradePassage": ["grade"],
        "VerifyFinding": ["holds"],
        "LocateAnswer": ["settled"],
        "VerifyAgainstRoot": ["fitting"],
        "VerifyInterpretation": ["answerable"],
        "VerifySupport": ["supported"],
    }
