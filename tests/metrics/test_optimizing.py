from dataclasses import replace
from typing import Any

import dspy
import pytest
from table_reader import TableReader

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Interpretation
from polyqa.metrics.feedback import FeedbackMetric
from polyqa.metrics.gold import Question, Reading
from polyqa.metrics.long_form import score_long_answers
from polyqa.metrics.optimizing import AnswerMetric, gold_of
from polyqa.models import Reader

GOOD = "The 1997 film Titanic came out in December 1997. The 1953 film Titanic came out in April 1953."
HALF = "The film Titanic came out in December 1997."


@pytest.fixture
def found(titanic: Question) -> dict[str, str]:
    """What the reader finds: the first reading's answer, and half of the second's."""
    return {titanic.readings[0].question: "1997", titanic.readings[1].question: ""}


# DSPy's bootstrapping takes any true value: a score of 0.5 would pass.
@pytest.mark.parametrize(("threshold", "verdict"), [(0.0, True), (0.5, True), (0.51, False), (1.0, False)])
def test_without_a_trace_a_score_with_one_a_verdict_by_the_threshold(
    titanic: Question, found: dict[str, str], threshold: float, verdict: bool
) -> None:
    metric = AnswerMetric(TableReader(found), measure="disambig_f1", threshold=threshold)
    example, prediction = titanic.to_example(), dspy.Prediction(answer=HALF)
    assert metric(example, prediction) == 0.5
    assert type(metric(example, prediction)) is float
    for trace in ([], [("predictor", {}, {})]):
        assert metric(example, prediction, trace) is verdict


def test_a_run_in_which_a_reply_was_lacking_becomes_no_demo(titanic: Question, found: dict[str, str]) -> None:
    metric = AnswerMetric(TableReader(found), measure="disambig_f1", threshold=0.0)
    for faults, verdict in (([], True), (["verify: the reply was empty"], False)):
        prediction = dspy.Prediction(answer=HALF, faults=faults)
        assert metric(titanic.to_example(), prediction, []) is verdict
        assert metric(titanic.to_example(), prediction) == 0.5


def test_bootstrapping_keeps_the_runs_that_reach_the_threshold(titanic: Question) -> None:
    readings = titanic.readings
    plain = replace(titanic, id="plain", question="Who won?", readings=(replace(readings[0], question="Who?"),))
    metric = AnswerMetric(TableReader({one.question: one.short_answers[0] for one in readings}), threshold=0.1)
    lm = dspy.utils.DummyLM([{"answer": GOOD}, {"answer": GOOD}])
    with dspy.context(lm=lm):
        optimizer = dspy.BootstrapFewShot(metric=metric, max_bootstrapped_demos=4, max_labeled_demos=0)
        student, trainset = dspy.Predict("question -> answer"), [titanic.to_example(), plain.to_example()]
        compiled = optimizer.compile(student, trainset=trainset)
    assert [demo.question for demo in compiled.demos] == [titanic.question]


def test_dr_is_the_measure_by_default(titanic: Question, reader: Reader) -> None:
    (score,) = score_long_answers([GOOD], [titanic], reader)
    example, prediction = titanic.to_example(), dspy.Prediction(answer=GOOD)
    assert AnswerMetric(reader)(example, prediction) == score.dr
    assert AnswerMetric(reader, measure="disambig_f1")(example, prediction) == score.disambig.f1
    assert AnswerMetric(reader).score(example, prediction) == score
    assert 0.0 < score.dr < 1.0


def test_dr_without_a_reference_answer_is_an_error(titanic: Question) -> None:
    bare = replace(titanic, long_answers=())
    example, prediction = bare.to_example(), dspy.Prediction(answer=GOOD)
    with pytest.raises(PolyqaError, match=r"'titanic'.*disambig_f1"):
        AnswerMetric(TableReader({}))(example, prediction)
    with pytest.raises(PolyqaError, match="no reference long answer"):
        AnswerMetric(TableReader({}))(example, prediction, [])
    assert AnswerMetric(TableReader({}), measure="disambig_f1")(example, prediction) == 0.0


def test_an_example_without_a_gold_question_is_an_error() -> None:
    metric = AnswerMetric(TableReader({}))
    for example in (dspy.Example(question="Who?"), dspy.Example(question="Who?", gold="She")):
        with pytest.raises(PolyqaError, match="to_example"):
            metric(example.with_inputs("question"), dspy.Prediction(answer="She"))


def test_examples_carry_their_question(titanic: Question) -> None:
    example = titanic.to_example()
    assert gold_of(example) is titanic
    assert example.inputs().toDict() == {"question": titanic.question}


def test_the_answers_of_the_readings_are_a_measure_that_needs_no_long_answer(reader: Reader) -> None:
    gold = Question("q", "?", (Reading("a?", ("1997",)), Reading("b?", ("2012", "in 2012"))))
    metric = AnswerMetric(reader, measure="f1_answer", threshold=0.7)
    readings = [Interpretation(question="a?", answer="1997"), Interpretation(question="c?", answer="1905")]

    def scored(found: Any, trace: list[object] | None = None) -> float | bool:
        said = dspy.Prediction(answer="", interpretations=found)
        return metric(gold.to_example(), said, trace)

    assert scored(readings) == 0.5
    assert scored([*readings[:1], Interpretation(question="b?", answer="in 2012")]) == 1.0
    assert scored([Interpretation(question="?", answer="1997; 2012")]) == 1.0  # several in one
    assert scored([one.model_dump() for one in readings]) == 0.5  # as a program of a user's own may give them
    assert scored([]) == scored(None) == 0.0
    assert scored(readings, trace=[]) is False
    feedback = FeedbackMetric(reader, measure="f1_answer")
    said = feedback(gold.to_example(), dspy.Prediction(answer="", interpretations=readings))
    assert said.score == 0.5
