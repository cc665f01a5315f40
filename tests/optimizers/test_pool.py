"""Good runs become demos: all that the metric accepts, and of several calls in a run one for each label."""

import enum
from collections import Counter
from collections.abc import Callable
from typing import Any, Literal

import dspy
import pytest
from failing_engine import Failing

import polyqa
from polyqa import signatures
from polyqa.base.errors import PolyqaError
from polyqa.extractive import ExtractiveEngine
from polyqa.metrics.gold import Question
from polyqa.metrics.optimizing import AnswerMetric
from polyqa.models import Reader
from polyqa.optimizers.pool import bootstrap_pool, label_fields

Pool = Callable[..., dict[str, list[dict[str, Any]]]]


@pytest.fixture
def pool(embedded: dspy.LM, reader: Reader) -> Pool:
    """Return what makes the pool of a program's runs."""

    def make(
        program: dspy.Module,
        questions: list[Question],
        threshold: float = 0.0,
        kind: type[AnswerMetric] = AnswerMetric,
        **given: Any,
    ) -> dict[str, list[dict[str, Any]]]:
        metric = kind(reader, threshold=threshold)
        return bootstrap_pool(program, questions, **{"lm": embedded, "metric": metric, "threads": 2, **given})

    return make


def test_a_pool_holds_only_runs_that_the_metric_accepts(diva: dspy.Module, train: list[Question], pool: Pool) -> None:
    scores: list[float] = []

    class Noting(AnswerMetric):
        def of(self, example: dspy.Example, prediction: Any) -> float:
            scores.append(super().of(example, prediction))
            return scores[-1]

    demos = pool(diva, train[:4], 0.5, Noting)
    good = sum(score >= 0.5 for score in scores)
    assert 0 < good < 4
    assert len(demos["infer"]) == good
    assert all(set(demo) <= {"question", "reason", "pseudo_interpretations"} for demo in demos["infer"])
    assert not any(pool(diva, train[:1], 1.0).values())


def test_a_run_in_which_a_reply_was_lacking_gives_no_demo(diva: dspy.Module, train: list[Question], pool: Pool) -> None:
    lm = Failing(ExtractiveEngine(encoder=diva.encoder), "answerable", "?", prompts=1).lm()
    demos = pool(diva, train[:3], lm=lm, threads=1)
    assert (len(demos["classify"]), len(demos["infer"])) == (2, 2)


class Unlisted(dspy.Module):
    """A program that asks a predictor which it does not list."""

    def __init__(self, rac: dspy.Module) -> None:
        super().__init__()
        self.rac = rac

    def forward(self, question: str) -> dspy.Prediction:
        dspy.Predict(signatures.AnswerClosedBook)(question=question)
        return self.rac(question=question)


def test_what_a_program_does_not_list_gets_no_demos(rac: dspy.Module, train: list[Question], pool: Pool) -> None:
    demos = pool(Unlisted(rac), train[:2])
    assert {name: len(own) for name, own in demos.items()} == {"rac.extract": 2, "rac.write": 2}


def test_runs_are_no_pool_if_all_failed(rac: dspy.Module, train: list[Question], pool: Pool) -> None:
    class Away(AnswerMetric):
        def of(self, example: dspy.Example, prediction: Any) -> float:
            raise ConnectionError("the server is away")

    with pytest.raises(PolyqaError, match=r"Every run on the 2 training questions failed: .*server is away"):
        pool(rac, train[:2], kind=Away)


@pytest.mark.parametrize(
    ("name", "predictor", "label"), [("crag", "grade", "grade"), ("self-rag", "draft", "relevant")]
)
def test_each_label_of_a_run_gets_its_first_demo(
    name: str, predictor: str, label: str, train: list[Question], pool: Pool, embedded: dspy.LM
) -> None:
    program = polyqa.load(name)
    demos = pool(program, train)
    expected = []
    for question in train:
        trace: list[Any] = []
        with dspy.context(lm=embedded, trace=trace):
            program(question=question.question)
        own = [{**given, **said} for one, given, said in trace if one is getattr(program, predictor)]
        expected += [demo for number, demo in enumerate(own) if demo[label] not in {one[label] for one in own[:number]}]
    fields = ("question", "passage", label)
    assert [[str(demo[one]) for one in fields] for demo in demos[predictor]] == [
        [str(demo[one]) for one in fields] for demo in expected
    ]
    assert len({str(demo[label]) for demo in expected}) > 1
    assert max(Counter(demo["question"] for demo in expected).values()) > 1
    if "write" in demos:
        assert len(demos["write"]) == len(train)  # no labels: one demo for each run


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
