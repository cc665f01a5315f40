import dspy
import pytest
from solaris import LINER, PASSAGES, QUESTION, extract, predict

from polyqa.extractive import ExtractiveEngine
from polyqa.extractive.evidence import gather
from polyqa.extractive.prompt import parse_passages
from polyqa.signatures import LocateAnswer


def test_extraction_finds_the_readings_and_says_where_they_stand() -> None:
    readings = {reading.pid: reading for reading in extract()}
    assert "1961" in readings["1"].answer
    assert "1972" in readings["2"].answer
    assert "2002" in readings["3"].answer
    assert "4" not in readings
    assert readings["3"].question == "When did the 2002 film Solaris come out?"
    assert len({reading.question for reading in readings.values()}) == len(readings)


def test_extraction_of_a_plain_question_keeps_its_wording() -> None:
    question = "Who directed the 1972 film Solaris?"
    (reading,) = extract(passages=PASSAGES[1:2], question=question)
    assert (reading.question, reading.answer, reading.pid) == (question, "Andrei Tarkovsky", "1")


@pytest.mark.parametrize(
    ("question", "passage", "answer"),
    [
        ("When is the team lunch?", "Team lunch | The team lunch is on Fridays in the boat house.", "Fridays"),
        ("When do juniors train?", "Training | Juniors train before school.", "before school"),
        ("When are fees due?", "Fees | Fees are due monthly. Students pay half.", "monthly"),
        ("When was the regatta first held?", "Regatta | The regatta was first held after the war.", "after the war"),
        ("When is a boat cleaned?", "Boats | A boat is cleaned every other week.", "every other week"),
        ("Who collects the money?", "Damage | The treasurer collects the money in the kitchen.", "treasurer"),
        ("Whose signature do juniors need?", "Guests | Juniors need a signature of their parents.", "their parents"),
        ("Where does the key hang?", "Oars | The key hangs beside the fridge.", "beside the fridge"),
        ("How often are boats cleaned?", "Boats | The boats are cleaned weekly.", "weekly"),
    ],
)
def test_times_people_and_places_need_no_date_and_no_name(question: str, passage: str, answer: str) -> None:
    (reading,) = extract(passages=[passage, LINER], question=question)
    assert answer in reading.answer


def test_what_has_no_number_answers_no_question_for_one() -> None:
    passage = "Family leave | All parental leave must be taken within the first year of the child's birth or placement."
    assert extract(passages=[passage, LINER], question="How long is parental leave?") == []
    assert extract(passages=[passage, LINER], question="When must parental leave be taken?")


@pytest.mark.parametrize("order", [1, -1])
def test_readings_stand_in_the_order_of_their_support(engine: ExtractiveEngine, order: int) -> None:
    shown = PASSAGES[::order]
    found = extract(passages=shown)
    rendered = "\n".join(f"[{number}] «{passage}»" for number, passage in enumerate(shown, 1))
    ranked = [evidence.span.text for evidence in gather(QUESTION, parse_passages(rendered), engine.models)]
    places = [ranked.index(reading.answer) for reading in found]
    assert len(places) > 1
    assert places == sorted(places)


def test_demos_limit_the_length_of_answers_and_not_the_number_of_readings() -> None:
    demos = [
        dspy.Example(
            question="Who wrote Dune?",
            interpretations=[
                {"question": "Who wrote the novel Dune?", "answer": "Frank Herbert"},
                {"question": "Who wrote the score of Dune?", "answer": "Toto"},
            ],
        )
    ]
    bare, shown = extract(), extract(demos=demos)
    assert len(bare) == len(shown) == 3
    assert all(len(reading.answer.split()) <= 3 for reading in shown)


TERRA = [
    "Terra 1 | Terra 1 measures at one depth. It was designed by Ellis Varga.",
    "Terra 2 | Terra 2 measures at three depths. It was designed by Ivo Brand.",
    "Terra 3 | Terra 3 measures at five depths. It was designed by Sunniva Moe.",
]


def test_two_namesakes_leave_a_question_as_open_as_three() -> None:
    """Leaving one passage out, as a condition does, takes away its reading and no other."""
    assert predict(LocateAnswer, question="Who designed Terra?", passages=TERRA).settled == "No"
    for left in (TERRA[:2], TERRA[1:], TERRA[::2]):
        assert predict(LocateAnswer, question="Who designed Terra?", passages=left).settled == "No"
        found = extract(passages=left, question="Who designed Terra?")
        assert {reading.answer for reading in found} == {one.split("designed by ")[1].rstrip(".") for one in left}
    assert predict(LocateAnswer, question="Who designed Terra?", passages=TERRA[:1]).settled == "Yes"


def test_the_thing_that_a_question_names_is_the_only_reading() -> None:
    found = extract(passages=TERRA, question="Who designed Terra 2?")
    assert [reading.answer for reading in found] == ["Ivo Brand"]
    assert predict(LocateAnswer, question="Who designed Terra 2?", passages=TERRA).settled == "Yes"
    assert predict(LocateAnswer, question="Who designed Terra 4?", passages=TERRA).short_answer == "null"


def test_namesakes_may_share_an_answer() -> None:
    passages = [
        "Hackathon 2019 | The Hackathon 2019 took place in Oslo. Team Plankton won the hackathon ahead of all.",
        "Hackathon 2023 | The Hackathon 2023 took place in Molde. Team Plankton won the hackathon ahead of all.",
        "Canteen | Team Plankton won the hackathon, and eats in the canteen.",
    ]
    found = extract(passages=passages, question="Who won the hackathon?")
    assert {reading.pid for reading in found if "Plankton" in reading.answer} == {"1", "2"}
