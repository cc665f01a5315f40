"""What each stage of a question kept and dropped."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

import polyqa
from polyqa.asking import Result
from polyqa.lm.recorder import listening
from polyqa.programs.tree import ClarificationNode, NodeStatus
from polyqa.reports.why import stages
from polyqa.watching import Watch

QUESTION = "When did Titanic come out?"
Steps = list[Mapping[str, Any]]


@pytest.fixture(scope="module")
def asked() -> tuple[Result, Steps]:
    steps: Steps = []
    program = polyqa.load("rac")
    with listening(Watch(lambda _, step: steps.append(step)), program):
        result = polyqa.ask(QUESTION, program=program)
    return result, steps


def test_the_stages_lead_from_the_question_to_the_readings(asked: tuple[Result, Steps]) -> None:
    result, steps = asked
    question, candidates, passages, readings, dropped = stages(result, steps)
    assert question.items[0].text == QUESTION
    assert candidates.title == "200 candidates"
    assert candidates.items[-1].text == "and 195 more"
    assert [item.source for item in passages.items] == list(range(1, 6))
    assert len(readings.items) == len(result.interpretations)
    for item in readings.items:
        assert passages.items[(item.source or 0) - 1].kept
    said = {item.text: item.detail for item in dropped.items}
    assert said["195 candidates"] == "not among the best 5"
    idle = [item.text for item in passages.items if not item.kept]
    assert idle
    assert all(said[title] == "read; no reading rests on it" for title in idle[:2])


def test_a_reading_that_was_given_up_is_named_with_the_reason(asked: tuple[Result, Steps]) -> None:
    result, steps = asked
    twin = result.interpretations[0].answer
    proposed = [
        {"question": "When did it dock?", "answer": "1912"},
        {"question": "When did the play open?", "answer": twin},
    ]
    more = [*steps, {"kind": "readings", "name": "clarify", "data": {"interpretations": proposed}}]
    said = {item.text: item.detail for item in stages(result, more)[-1].items}
    assert said["When did it dock?"] == "did not hold against the passages"
    assert said["When did the play open?"] == f"same answer as another reading: {twin}"
    tree = ClarificationNode(
        question=QUESTION,
        children=(ClarificationNode(question="The ship?", answer="1912", status=NodeStatus.PRUNED, depth=1),),
    )
    withheld = replace(result, standing="unanswered", extra={"tree": tree})
    said = {item.text: item.detail for item in stages(withheld, more)[-1].items}
    assert said["The ship?"] == "does not fit the question"
    assert said["When did it dock?"] == "not sure enough to be shown"
