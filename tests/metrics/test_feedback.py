from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import dspy
import pytest
from table_reader import TableReader

from polyqa import signatures
from polyqa.base.values import AmbiguityType, Interpretation
from polyqa.metrics.feedback import FeedbackMetric, answer_feedback, step_feedback
from polyqa.metrics.gold import Question, Reading
from polyqa.metrics.long_form import score_long_answers
from polyqa.metrics.optimizing import AnswerMetric, Measure
from polyqa.models import Reader
from polyqa.signatures import AnswerClosedBook, ExtractInterpretations, VerifyInterpretation, WriteLongFormAnswer

GOOD = "Two films are called Titanic. One came out in December 1997, the other in April 1953."
IN_1997, IN_1953 = "When did the 1997 film Titanic come out?", "When did the 1953 film Titanic come out?"
PASSAGES = ["Titanic | The film of 1997.", "Titanic | A film that came out in April 1953."]
PLAIN = Question("plain", "Who wrote Emma?", (Reading("Who wrote Emma?", ("Jane Austen",)),), ambiguity="none")


def told(question: Question, step: str, inputs: Mapping[str, Any], **outputs: Any) -> list[str]:
    return step_feedback(question, getattr(signatures, step), inputs, dspy.Prediction(**outputs))


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


@pytest.mark.parametrize("measure", ["f1_answer", "dr"])
def test_a_short_answer_of_another_form_is_named_where_its_form_counts(titanic: Question, measure: Measure) -> None:
    first, second = titanic.readings
    years = replace(
        titanic, readings=(replace(first, short_answers=("1997",)), replace(second, short_answers=("1953",)))
    )
    found = [reading(IN_1997, "19 December 1997"), reading(IN_1953, "1953"), reading("When was it sunk?", "1912")]
    prediction = dspy.Prediction(answer=GOOD, interpretations=found)
    said = FeedbackMetric(TableReader({}), measure=measure)(years.to_example(), prediction).feedback
    form = f"has another form than the wanted one:\n- {IN_1997} → “1997”, but the short answer is “19 December 1997”"
    assert (form in said) is (measure == "f1_answer")
    assert said.count("but the short answer is") == (measure == "f1_answer")


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


OVERLOOKED = "This step overlooked readings whose answers stand in its passages:"
STRANGE = "It extracted readings that are not wanted, or have a wrong answer:"
ABSENT = "Not its fault, the passages lack them:"
LEFT_OUT = "This step was given these readings and left their answers out:"
LACKING, REACHED = "No pseudo-interpretation points to:", "The pseudo-interpretations reach every reading."
TWO_READINGS = "The question has one meaning, yet this step wrote 2 readings."
WANTED_1997, WANTED_1953 = f"- {IN_1997} → “December 1997”", f"- {IN_1953} → “April 1953”"
SHIP = "When did the ship sail from Belfast?"  # no gold reading is asked about
WRONG = [reading(IN_1997, "31 May 1911")]
RIGHT = [reading("The one of 1953?", "April 1953"), reading(IN_1997, "in 1997")]
BOTH = [reading(IN_1997, "1997"), reading(IN_1953, "April 1953")]
SEVERAL = [reading("?", "1953; May")]


@pytest.mark.parametrize(
    ("passages", "found", "said"),
    [
        (PASSAGES, WRONG, [OVERLOOKED, WANTED_1997, WANTED_1953, STRANGE, f"- {IN_1997} → “31 May 1911”"]),
        (PASSAGES[:1], [], [OVERLOOKED, WANTED_1997, ABSENT, WANTED_1953]),
        (None, [], [ABSENT, WANTED_1997, WANTED_1953]),
        ("\n".join(PASSAGES), RIGHT, ["This step found every reading, and nothing else."]),
    ],
)
def test_extraction_is_held_against_its_passages(
    titanic: Question, passages: Any, found: list[Interpretation], said: list[str]
) -> None:
    assert told(titanic, "ExtractInterpretations", {"passages": passages}, interpretations=found) == said


def of_readings(question: str, *readings: str) -> Question:
    return Question("1", question, tuple(Reading(one, (f"answer {at}",)) for at, one in enumerate(readings)))


YEARS = ("When did Titanic come out in 1997?", "When did Titanic come out in 1953?")


@pytest.mark.parametrize(
    ("question", "found", "said"),
    [
        (of_readings("When did Titanic come out?", IN_1997, IN_1953), YEARS, []),
        (
            of_readings("When did Titanic come out?", IN_1997, IN_1953),
            YEARS[:1],
            [f"{IN_1953} (no question says: 1953)"],
        ),
        # words that all readings add point to none
        (
            of_readings("When did Titanic come out?", *YEARS),
            ["When did Titanic come out in Japan?"],
            [f"{YEARS[0]} (no question says: 1997)", f"{YEARS[1]} (no question says: 1953)"],
        ),
        # readings that differ in their answers only are missed together
        (
            of_readings("Who won?", *["Who won in 1998?"] * 2),
            ["Who lost?"],
            ["Who won in 1998? (no question says: in, 1998)"] * 2,
        ),
        (of_readings("Who won?", *["Who won in 1998?"] * 2), ["Who won the games of 1998?"], []),
        (PLAIN, ["Who wrote Emma?"], []),
    ],
)
def test_inference_is_told_what_no_question_points_to(question: Question, found: list[str], said: list[str]) -> None:
    expected = [LACKING, *(f"- {one}" for one in said)] if said else [REACHED]
    assert told(question, "InferPseudoInterpretations", {}, pseudo_interpretations=found) == expected


def test_inference_of_a_plain_question_should_not_multiply_it() -> None:
    found = ["Who wrote the book?", "Who wrote the film?"]
    assert told(PLAIN, "InferPseudoInterpretations", {}, pseudo_interpretations=found) == [TWO_READINGS]


@pytest.mark.parametrize(
    ("asked", "passages", "verdict", "wrong"),
    [
        (IN_1953, PASSAGES, "Yes", ""),
        (IN_1953, PASSAGES, "No", "do hold"),
        (IN_1953, PASSAGES[:1], "No", ""),
        (IN_1953, PASSAGES[:1], "Yes", "do not hold"),
        (YEARS[1], PASSAGES, "No", "do hold"),
        (SHIP, PASSAGES, "No", ""),
        ("When did Titanic come out?", PASSAGES, "No", ""),  # nor does the question as it stands mean one
    ],
)
def test_verification_is_held_against_the_passages(
    titanic: Question, asked: str, passages: list[str], verdict: str, wrong: str
) -> None:
    text = f"Asked “{asked}” this step said {verdict}, but the passages {wrong} the answer to: {WANTED_1953[2:]}."
    said = told(titanic, "VerifyInterpretation", {"passages": passages, "question": asked}, answerable=verdict)
    assert said == ([text] if wrong else [])
    at_once = {"passages": passages, "candidates": [SHIP, asked]}
    assert told(titanic, "VerifyInterpretations", at_once, answered=[2] if verdict == "Yes" else []) == said


@pytest.mark.parametrize("asked", ["Who wrote Emma?", "Who is the author of the novel?"])
def test_verification_of_a_plain_question_needs_no_edits(asked: str) -> None:
    inputs = {"passages": ["Emma | A novel by Jane Austen."], "question": asked}
    (text,) = told(PLAIN, "VerifyInterpretation", inputs, answerable="No")
    assert "Jane Austen" in text
    assert told(PLAIN, "VerifyInterpretation", inputs, answerable="Yes") == []


def test_readings_that_were_checked_are_held_against_the_wanted_answers(titanic: Question) -> None:
    inputs = {"passages": PASSAGES, "interpretations": [reading(IN_1953, "April 1953"), reading(IN_1997, "1912")]}
    assert told(titanic, "VerifyReadings", inputs, supported=[1]) == []
    right, wrong = told(titanic, "VerifyReadings", inputs, supported=[2])
    assert "“April 1953” holds" in right
    assert "“1912” does not hold" in wrong


@pytest.mark.parametrize(
    ("given", "answer", "left_out"),
    [
        (BOTH, GOOD, []),
        (BOTH, "It came out in 1997.", [WANTED_1953]),
        (SEVERAL, "It came out in May or 1953.", []),
        (SEVERAL, "In May.", ["- ? → “1953; May”"]),  # each of several answers belongs into the answer
    ],
)
def test_writing_names_the_answers_that_it_left_out(
    titanic: Question, given: list[Interpretation], answer: str, left_out: list[str]
) -> None:
    said = [LEFT_OUT, *left_out] if left_out else []
    assert told(titanic, "WriteLongFormAnswer", {"interpretations": given}, answer=answer) == said
    clarified = told(titanic, "ClarifyQuestion", {"passages": PASSAGES}, interpretations=given, answer=answer)
    extracted = told(titanic, "ExtractInterpretations", {"passages": PASSAGES}, interpretations=given)
    assert clarified == [*extracted, *said]


@pytest.mark.parametrize("label", ["subject", "AmbSub", "[AmbSub]"])
def test_typing_is_told_the_right_kind_however_the_data_names_it(titanic: Question, label: str) -> None:
    question = replace(titanic, ambiguity=label)
    for right in ([AmbiguityType.SUBJECT], [AmbiguityType.TIME, AmbiguityType.SUBJECT]):
        assert told(question, "TypeAmbiguity", {}, reason="", ambiguity_types=right) == []
    said = ["The ambiguity is AmbSub (Two films share the name.), this step said AmbTime."]
    assert told(question, "TypeAmbiguity", {}, reason="", ambiguity_types=[AmbiguityType.TIME]) == said


def test_typing_is_told_that_a_question_is_or_is_not_plain(titanic: Question) -> None:
    bare = replace(titanic, ambiguity=None, reason=None)
    assert told(bare, "TypeAmbiguity", {}, reason="", ambiguity_types=[AmbiguityType.LOCATION]) == []
    own = replace(titanic, ambiguity="homonym")
    assert told(own, "TypeAmbiguity", {}, reason="", ambiguity_types=[AmbiguityType.LOCATION]) == []
    for plain in ([AmbiguityType.NONE], []):
        (text,) = told(titanic, "TypeAmbiguity", {}, reason="", ambiguity_types=plain)
        assert "2 readings" in text
    (text,) = told(PLAIN, "TypeAmbiguity", {}, reason="", ambiguity_types=[AmbiguityType.TIME])
    assert "one meaning" in text
    assert told(PLAIN, "TypeAmbiguity", {}, reason="", ambiguity_types=[AmbiguityType.NONE]) == []


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


def test_replies_of_a_users_own_types_are_read_as_ours_are(titanic: Question) -> None:
    def said(signature: str, asked: str, **reply: Any) -> list[str]:
        inputs = {"passages": PASSAGES, "question": asked}
        return step_feedback(titanic, dspy.Signature(signature), inputs, dspy.Prediction(**reply))

    verify, extract = "passages, question -> answerable: bool", "passages, question -> interpretations: list"
    assert said(verify, IN_1953, answerable=True) == []
    (text,) = said(verify, IN_1953, answerable=False)
    assert "said No, but the passages do hold" in text
    found = [one.model_dump() for one in RIGHT]
    expected = told(titanic, "ExtractInterpretations", {"passages": PASSAGES}, interpretations=RIGHT)
    assert said(extract, titanic.question, interpretations=found) == expected
    assert said(extract, titanic.question, interpretations=["in 1997"]) == []


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
    titanic: Question, reader: Reader, capsys: pytest.CaptureFixture[str]
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
    with dspy.context(lm=Alternating([])):
        gepa.compile(Clarify(), trainset=[example], valset=[example])
    assert shown["extract"]
    assert shown["write"]
    assert all("overlooked" in text and IN_1953 in text for text in shown["extract"])
    assert all("left their answers out" in text and "1997" in text for text in shown["write"])
    assert "different from the overall metric score" not in capsys.readouterr().err
