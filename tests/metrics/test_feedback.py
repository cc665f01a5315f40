import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import dspy
import pytest
from table_reader import TableReader

from polyqa.base.values import AmbiguityType, Interpretation
from polyqa.metrics.feedback import FeedbackMetric, answer_feedback, step_feedback
from polyqa.metrics.gold import Question, Reading
from polyqa.metrics.long_form import score_long_answers
from polyqa.metrics.optimizing import AnswerMetric
from polyqa.models import Reader
from polyqa.signatures import (
    AnswerClosedBook,
    ClarifyQuestion,
    ExtractInterpretations,
    InferPseudoInterpretations,
    TypeAmbiguity,
    VerifyInterpretation,
    VerifyInterpretations,
    VerifyReadings,
    WriteLongFormAnswer,
)

GOOD = "Two films are called Titanic. One came out in December 1997, the other in April 1953."
IN_1997, IN_1953 = "When did the 1997 film Titanic come out?", "When did the 1953 film Titanic come out?"
PASSAGES = ["Titanic | The film of 1997.", "Titanic | A film that came out in April 1953."]
PLAIN = Question("plain", "Who wrote Emma?", (Reading("Who wrote Emma?", ("Jane Austen",)),), ambiguity="none")


SIGNATURES = {
    tuple(signature.output_fields): signature
    for signature in (
        ExtractInterpretations,
        InferPseudoInterpretations,
        TypeAmbiguity,
        VerifyInterpretation,
        VerifyInterpretations,
        VerifyReadings,
        ClarifyQuestion,
        WriteLongFormAnswer,
    )
}


def told(question: Question, inputs: Mapping[str, Any], **outputs: Any) -> str:
    return "\n".join(step_feedback(question, SIGNATURES[tuple(outputs)], inputs, dspy.Prediction(**outputs)))


def reading(question: str, answer: str) -> Interpretation:
    return Interpretation(question=question, answer=answer)


# --- the whole answer ----------------------------------------------------------------------------


def test_readings_are_named_as_covered_missed_or_wrong(titanic: Question) -> None:
    third = Reading("When did the musical Titanic come out?", ("23 April 1997",))
    question = replace(titanic, readings=(*titanic.readings, third))
    reader = TableReader({IN_1997: "1997", IN_1953: "a ship"})
    (score,) = score_long_answers([GOOD], [question], reader)
    covered, missed, wrong = (
        [line for line in answer_feedback(question, score).splitlines() if text in line]
        for text in (IN_1997, third.question, IN_1953)
    )
    text = answer_feedback(question, score)
    assert "1 of 3" in text
    assert text.index("Covered") < text.index(covered[0]) < text.index("Missed") < text.index(missed[0])
    assert text.index("Wrong") < text.index(wrong[0])
    assert "December 1997" in covered[0]
    assert "23 April 1997" in missed[0]
    assert "April 1953" in wrong[0]
    assert "a ship" in wrong[0]


@pytest.mark.parametrize(("answer", "remark"), [("1997.", True), (GOOD, False), (GOOD * 3, True)])
def test_a_length_far_from_the_references_is_named(titanic: Question, answer: str, remark: bool) -> None:
    (score,) = score_long_answers([answer], [titanic], TableReader({}))
    assert (f"{score.length} words" in answer_feedback(titanic, score)) is remark


def test_without_references_neither_rouge_nor_length_is_spoken_of(titanic: Question) -> None:
    bare = replace(titanic, long_answers=())
    (score,) = score_long_answers(["1997."], [bare], TableReader({}))
    text = answer_feedback(bare, score)
    assert "ROUGE" not in text
    assert "words" not in text


# --- steps ---------------------------------------------------------------------------------------


def test_extraction_names_what_it_overlooked_and_what_it_made_up(titanic: Question) -> None:
    found = [reading(IN_1997, "31 May 1911")]
    text = told(titanic, {"passages": PASSAGES, "question": titanic.question}, interpretations=found)
    overlooked, rest = text.split("It extracted")
    assert IN_1997 in overlooked
    assert IN_1953 in overlooked
    assert "31 May 1911" in rest
    assert IN_1997 in rest


def test_extraction_is_not_blamed_for_its_passages(titanic: Question) -> None:
    text = told(titanic, {"passages": PASSAGES[:1]}, interpretations=[])
    overlooked, absent = text.split("Not its fault")
    assert IN_1997 in overlooked
    assert IN_1953 not in overlooked
    assert IN_1953 in absent
    assert told(titanic, {}, interpretations=[]).startswith("Not its fault")


def test_extraction_that_found_all_is_told_so(titanic: Question) -> None:
    found = [reading("The one of 1953?", "April 1953"), reading(IN_1997, "in 1997")]
    text = told(titanic, {"passages": "\n".join(PASSAGES)}, interpretations=found)
    assert "every reading" in text
    assert IN_1997 not in text


def test_inference_names_the_readings_that_no_question_points_to(titanic: Question) -> None:
    text = told(titanic, {}, pseudo_interpretations=["When did Titanic come out in 1997?"])
    assert IN_1953 in text
    assert "1953" in text
    assert IN_1997 not in text
    both = ["When did Titanic come out in 1997?", "When did Titanic come out in 1953?"]
    assert "every reading" in told(titanic, {}, pseudo_interpretations=both)


def test_words_that_all_readings_add_point_to_none() -> None:
    question = Question(
        "1",
        "When did Titanic come out?",
        (
            Reading("When did Titanic come out in 1997?", ("December",)),
            Reading("When did Titanic come out in 1953?", ("April",)),
        ),
    )
    text = told(question, {}, pseudo_interpretations=["When did Titanic come out in Japan?"])
    assert "1997" in text
    assert "1953" in text


def test_readings_that_differ_in_their_answers_only_are_missed_together() -> None:
    question = Question(
        "1",
        "Who won?",
        (Reading("Who won in 1998?", ("She",)), Reading("Who won in 1998?", ("He",))),
    )
    assert "1998" in told(question, {}, pseudo_interpretations=["Who lost?"])
    assert "every reading" in told(question, {}, pseudo_interpretations=["Who won the games of 1998?"])


def test_inference_of_a_plain_question_should_not_multiply_it() -> None:
    assert "one meaning" in told(PLAIN, {}, pseudo_interpretations=["Who wrote the book?", "Who wrote the film?"])
    assert "one meaning" not in told(PLAIN, {}, pseudo_interpretations=["Who wrote Emma?"])


@pytest.mark.parametrize(
    ("asked", "passages", "verdict", "wrong"),
    [
        (IN_1953, PASSAGES, "Yes", False),
        (IN_1953, PASSAGES, "No", True),
        (IN_1953, PASSAGES[:1], "No", False),
        (IN_1953, PASSAGES[:1], "Yes", True),
        ("When did Titanic come out in 1953?", PASSAGES, "No", True),
        ("When did the ship sail from Belfast?", PASSAGES, "No", False),  # no gold reading is asked about
        ("When did Titanic come out?", PASSAGES, "No", False),  # nor does the question as it stands mean one
    ],
)
def test_verification_is_held_against_the_passages(
    titanic: Question, asked: str, passages: list[str], verdict: str, wrong: bool
) -> None:
    text = told(titanic, {"passages": passages, "question": asked}, answerable=verdict)
    assert bool(text) is wrong
    if wrong:
        assert verdict in text
        assert IN_1953 in text


def test_verification_of_all_at_once_names_each_that_is_wrong(titanic: Question) -> None:
    inputs = {"passages": PASSAGES, "candidates": [IN_1953, IN_1997, "When did the ship sail from Belfast?"]}
    assert told(titanic, inputs, answered=[1, 2]) == ""
    text = told(titanic, inputs, answered=[2])
    assert IN_1953 in text
    assert IN_1997 not in text


def test_readings_that_were_checked_are_held_against_the_wanted_answers(titanic: Question) -> None:
    inputs = {"passages": PASSAGES, "interpretations": [reading(IN_1953, "April 1953"), reading(IN_1997, "1912")]}
    assert told(titanic, inputs, supported=[1]) == ""
    text = told(titanic, inputs, supported=[2])
    assert "“April 1953” holds" in text
    assert "“1912” does not hold" in text


def test_a_clarification_is_told_what_it_overlooked_and_what_it_left_out(titanic: Question) -> None:
    inputs = {"passages": PASSAGES, "question": titanic.question}
    text = told(titanic, inputs, interpretations=[reading(IN_1953, "April 1953")], answer="It came out in May.")
    overlooked, dropped = text.split("left their answers out")
    assert IN_1997 in overlooked
    assert "April 1953" in dropped


@pytest.mark.parametrize(("answer", "left_out"), [("It came out in May or 1953.", False), ("In May.", True)])
def test_each_of_several_answers_of_a_reading_belongs_into_the_answer(
    titanic: Question, answer: str, left_out: bool
) -> None:
    inputs = {"passages": PASSAGES, "interpretations": [reading(IN_1953, "1953; May")]}
    assert ("left their answers out" in told(titanic, inputs, answer=answer)) is left_out


def test_verification_of_a_plain_question_needs_no_edits() -> None:
    inputs = {"passages": ["Emma | A novel by Jane Austen."], "question": "Who wrote Emma?"}
    assert "Jane Austen" in told(PLAIN, inputs, answerable="No")
    assert told(PLAIN, inputs, answerable="Yes") == ""
    other = {**inputs, "question": "Who is the author of the novel?"}
    assert "Jane Austen" in told(PLAIN, other, answerable="No")


def test_classification_is_told_that_a_question_is_or_is_not_plain(titanic: Question) -> None:
    assert "2 readings" in told(titanic, {}, reason="", ambiguity_types=[AmbiguityType.NONE])
    assert "2 readings" in told(titanic, {}, reason="", ambiguity_types=[])
    assert "one meaning" in told(PLAIN, {}, reason="", ambiguity_types=[AmbiguityType.TIME])
    assert told(PLAIN, {}, reason="", ambiguity_types=[AmbiguityType.NONE]) == ""


@pytest.mark.parametrize("label", ["subject", "AmbSub", "[AmbSub]"])
def test_classification_is_told_the_right_kind_however_the_data_names_it(titanic: Question, label: str) -> None:
    question = replace(titanic, ambiguity=label)
    assert told(question, {}, reason="", ambiguity_types=[AmbiguityType.SUBJECT]) == ""
    assert told(question, {}, reason="", ambiguity_types=[AmbiguityType.TIME, AmbiguityType.SUBJECT]) == ""
    text = told(question, {}, reason="", ambiguity_types=[AmbiguityType.TIME])
    assert "AmbSub" in text
    assert "AmbTime" in text
    assert "Two films share the name." in text


def test_classification_without_a_gold_kind_is_not_blamed(titanic: Question) -> None:
    bare = replace(titanic, ambiguity=None, reason=None)
    assert told(bare, {}, reason="", ambiguity_types=[AmbiguityType.LOCATION]) == ""


def test_writing_names_the_answers_that_it_left_out(titanic: Question) -> None:
    inputs = {"passages": PASSAGES, "interpretations": [reading(IN_1997, "1997"), reading(IN_1953, "April 1953")]}
    assert told(titanic, inputs, answer=GOOD) == ""
    text = told(titanic, inputs, answer="It came out in 1997.")
    assert IN_1953 in text
    assert "April 1953" in text
    assert IN_1997 not in text


@pytest.mark.parametrize("signature", [AnswerClosedBook, dspy.Signature("question -> summary")])
def test_a_step_of_another_kind_is_passed_over(titanic: Question, signature: type[dspy.Signature]) -> None:
    (name,) = signature.output_fields
    assert step_feedback(titanic, signature, {"question": titanic.question}, dspy.Prediction(**{name: GOOD})) == []


@pytest.mark.parametrize(
    ("signature", "same"),
    [
        (dspy.Signature("passages, question -> interpretations: list"), True),
        (dspy.Signature("question, passages, hint -> thought, interpretations: list"), True),
        (dspy.ChainOfThought(ExtractInterpretations).predict.signature, True),
        (dspy.Signature("question -> interpretations: list"), True),
        (dspy.Signature("question, passages -> readings: list"), False),
    ],
)
def test_signatures_of_a_users_own_with_the_same_fields_get_feedback(
    titanic: Question, signature: type[dspy.Signature], same: bool
) -> None:
    inputs, reply = {"passages": PASSAGES, "question": titanic.question}, dspy.Prediction(interpretations=[])
    expected = step_feedback(titanic, ExtractInterpretations, inputs, reply)
    assert expected
    assert step_feedback(titanic, signature, inputs, reply) == (expected if same else [])
    assert step_feedback(titanic, signature, inputs, dspy.Prediction()) == []


# --- as GEPA's metric ----------------------------------------------------------------------------


@pytest.mark.parametrize("measure", ["dr", "disambig_f1"])
@pytest.mark.parametrize("answer", [GOOD, "It came out in 1997.", ""])
def test_the_score_is_that_of_the_answer_metric(titanic: Question, reader: Reader, measure: Any, answer: str) -> None:
    example, prediction = titanic.to_example(), dspy.Prediction(answer=answer)
    step = (dspy.Predict(VerifyInterpretation), {"passages": [], "question": IN_1953}, {"answerable": "Yes"})
    metric = FeedbackMetric(reader, measure=measure)
    score = AnswerMetric(reader, measure=measure)(example, prediction)
    whole = metric(example, prediction)
    part = metric(example, prediction, [step], "verify", [step])
    assert whole.score == part.score == score
    assert part.feedback.startswith(whole.feedback)
    assert len(part.feedback) > len(whole.feedback)


class Clarify(dspy.Module):
    def __init__(self) -> None:
        super().__init__()
        self.extract = dspy.Predict(ExtractInterpretations)
        self.write = dspy.Predict(WriteLongFormAnswer)

    def forward(self, question: str) -> dspy.Prediction:
        found = self.extract(passages=PASSAGES, question=question).interpretations
        return self.write(passages=PASSAGES, question=question, interpretations=found)


def test_gepa_reflects_on_what_each_step_missed(
    titanic: Question, reader: Reader, caplog: pytest.LogCaptureFixture
) -> None:
    shown: dict[str, list[str]] = {"extract": [], "write": []}

    def propose(candidate: Any, reflective_dataset: Any, components_to_update: Any) -> dict[str, str]:
        for name in components_to_update:
            shown[name] += [record["Feedback"] for record in reflective_dataset[name]]
        return dict.fromkeys(components_to_update, "Do it better.")

    replies = {
        "extract": {"interpretations": f'[{{"question": "{IN_1997}", "answer": "1997"}}]'},
        "write": {"answer": "The film came out."},
    }

    class Alternating(dspy.utils.DummyLM):
        def forward(self, prompt: Any = None, messages: Any = None, **settings: Any) -> Any:
            step = "write" if "`answer` (str)" in messages[0]["content"] else "extract"
            self.answers = iter([replies[step]])
            return super().forward(prompt=prompt, messages=messages, **settings)

    gepa = dspy.GEPA(
        metric=FeedbackMetric(reader),
        max_metric_calls=6,
        reflection_minibatch_size=1,
        instruction_proposer=propose,
        num_threads=1,
    )
    example = titanic.to_example()
    with dspy.context(lm=Alternating([])), caplog.at_level(logging.WARNING):
        gepa.compile(Clarify(), trainset=[example], valset=[example])
    assert shown["extract"]
    assert shown["write"]
    assert all("overlooked" in text and IN_1953 in text for text in shown["extract"])
    assert all("left their answers out" in text and "1997" in text for text in shown["write"])
    assert "different from the overall metric score" not in caplog.text
