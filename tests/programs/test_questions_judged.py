"""Questions are trusted as far as the model copies their answer out of the passage again."""

import dspy
import pytest
from probable_engine import ProbableEngine, probable_lm

from polyqa.base.values import Passage
from polyqa.programs.passages_read import READING
from polyqa.programs.questions_judged import trust_in_questions

PASSAGE = Passage(pid="a", title="Falcon 1", text="Falcon 1 was released in 2016. Ida Berg led it.")
COPIED = {"released": ("in 2016", 0.05), "led": ("Ida Berg", 0.75), "built": ("2016", 0.01)}


def copied(text: str) -> tuple[str, dict[str, float]]:
    """Copy an answer, and be as sure as it is told that there is none."""
    question = text.partition("## passage")[0]
    reply, none = next(reply for word, reply in COPIED.items() if word in question)
    return reply, {reply.split()[0]: 1 - none, "none": none}


def test_trust_is_how_likely_the_passage_answers_and_with_that_answer() -> None:
    judge, steps = ProbableEngine(copied), list[int]()
    lm = probable_lm(judge, reads=True)
    asked = [
        ("When was Falcon 1 released?", "2016", PASSAGE),
        ("Who led Falcon 1?", "Ida Berg", PASSAGE),
        ("Who built Falcon 1?", "Ida Berg", PASSAGE),
    ]
    assert trust_in_questions(asked, lm, step=lambda: steps.append(1)) == pytest.approx([0.95, 0.25, 0.0])
    assert len(steps) == 3
    assert all((one.config.extensions or {})["metadata"] == READING["config"]["metadata"] for one in judge.requests)
    assert "Falcon 1 | Falcon 1 was released in 2016. Ida Berg led it." in (judge.requests[0].messages[-1].text or "")
    assert dspy.settings.lm is not lm
