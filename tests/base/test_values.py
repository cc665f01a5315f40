import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from polyqa.base.values import AmbiguityType, Coverage, Grade, Interpretation, Passage, json_data


@pytest.mark.parametrize(
    ("title", "text", "rendered"),
    [
        ("", "A planet.", "A planet."),
        ("Mercury", " A\n\tplanet \r\n near  the sun. ", "Mercury | A planet near the sun."),
        ("Mercury\n(planet)", "Hot.", "Mercury (planet) | Hot."),
    ],
)
def test_a_passage_is_rendered_on_one_line(title: str, text: str, rendered: str) -> None:
    assert Passage(pid="p1", title=title, text=text).render() == rendered


@given(st.text(max_size=60))
def test_a_rendered_text_is_one_line_with_the_same_words(text: str) -> None:
    rendered = Passage(pid="1", text=text).render()
    assert len(rendered.splitlines()) <= 1
    assert rendered.split() == text.split()


def test_a_score_is_changed_on_a_copy() -> None:
    passage = Passage(pid="a", title="A", text="one", score=1.0)
    assert passage.with_score(3) == Passage(pid="a", title="A", text="one", score=3.0) != passage


@pytest.mark.parametrize(
    ("value", "field"),
    [(Passage(pid="a", text="one"), "text"), (Interpretation(question="Who?", answer="She"), "answer")],
)
def test_values_are_frozen(value: Passage | Interpretation, field: str) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        setattr(value, field, "other")


def test_an_interpretation_without_pid_is_written_without_it() -> None:
    bare = Interpretation(question="Who won?", answer="She")
    assert bare.model_dump() == {"question": "Who won?", "answer": "She"}
    assert json.loads(bare.model_dump_json()) == {"question": "Who won?", "answer": "She"}


@given(st.builds(Interpretation, question=st.text(max_size=30), answer=st.text(max_size=30), pid=st.none() | st.text()))
def test_an_interpretation_survives_json(interpretation: Interpretation) -> None:
    assert Interpretation.model_validate_json(interpretation.model_dump_json()) == interpretation


def test_the_schema_of_an_interpretation_holds_what_a_language_model_needs() -> None:
    schema = Interpretation.model_json_schema()
    assert schema["required"] == ["question", "answer"]
    assert {name: field["type"] for name, field in schema["properties"].items()} == dict.fromkeys(
        ("question", "answer", "pid"), "string"
    )
    assert all(set(field) == {"type", "description"} for field in schema["properties"].values())
    assert set(schema) == {"type", "properties", "required"}


def test_numbers_that_json_does_not_have_are_null() -> None:
    assert (
        json.dumps(json_data({"scores": [math.nan, math.inf, 0.5]}), allow_nan=False) == '{"scores": [null, null, 0.5]}'
    )


@pytest.mark.parametrize(
    ("verdicts", "coverage"),
    [
        ([True, True], Coverage.USEFUL),
        ([False], Coverage.USELESS),
        ([True, False], Coverage.PARTIAL_USEFUL),
        ((False, False, True), Coverage.PARTIAL_USEFUL),
    ],
)
def test_coverage_of_verdicts(verdicts: list[bool], coverage: Coverage) -> None:
    assert Coverage.from_verdicts(verdicts) is coverage
    with pytest.raises(ValueError, match="no verdict"):
        Coverage.from_verdicts([])


def test_labels_are_the_papers() -> None:
    assert [str(label) for label in AmbiguityType] == ["AmbSub", "AmbObj", "AmbPred", "AmbTime", "AmbLoc", "N/A"]
    assert [str(grade) for grade in Coverage] == ["Useful", "PartialUseful", "Useless"]


@pytest.mark.parametrize(
    ("grades", "action"),
    [
        ([Grade.INCORRECT, Grade.CORRECT, Grade.AMBIGUOUS], Grade.CORRECT),
        ([Grade.INCORRECT, Grade.AMBIGUOUS], Grade.AMBIGUOUS),
        ([Grade.INCORRECT, Grade.INCORRECT], Grade.INCORRECT),
        ([], Grade.INCORRECT),
    ],
)
def test_one_correct_passage_is_enough_and_only_incorrect_ones_are_incorrect(
    grades: list[Grade], action: Grade
) -> None:
    assert Grade.of_all(grades) is action


def test_a_bar_in_a_text_without_a_title_parts_nothing() -> None:
    row = Passage(pid="a", text="Gasket | 40 euros | in store")
    assert row.render() == "Gasket ｜ 40 euros ｜ in store"
    assert Passage(pid="a", title="Prices", text="Gasket | 40").render() == "Prices | Gasket | 40"
