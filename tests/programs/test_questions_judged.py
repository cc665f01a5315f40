"""Questions are trusted as far as the model says Yes to their answers."""

import math

import dspy
import pytest
from dspy.lm15 import Message, Request, Response, TokenLogprob, TopLogprob, Usage

from polyqa.base.values import Passage
from polyqa.lm.client import RecentLM
from polyqa.programs.questions_judged import trust_in_questions

PASSAGE = Passage(pid="a", title="Falcon 1", text="Falcon 1 was released in 2016. Ida Berg led it.")


class Judge:
    """Is sure of what was released, and doubts the rest."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def complete(self, request: Request) -> Response:
        text = request.messages[-1].text or ""
        self.asked.append(text)
        yes = 0.95 if "released" in text.partition("## finding")[2] else 0.25
        top = (TopLogprob("Yes", math.log(yes)), TopLogprob("No", math.log(1 - yes)))
        tokens = (TokenLogprob("Yes", math.log(yes), top=top),)
        return Response(None, request.model, Message.assistant("Yes"), "stop", Usage(), tokens)

    def close(self) -> None:
        pass


def test_trust_is_the_probability_of_yes() -> None:
    judge, steps = Judge(), list[int]()
    lm = RecentLM("tests/judge", engine=judge, cache=False)
    lm.gives_probabilities = True
    asked = [("When was Falcon 1 released?", "2016", PASSAGE), ("Who built Falcon 1?", "Ida Berg", PASSAGE)]
    assert trust_in_questions(asked, lm, step=lambda: steps.append(1)) == pytest.approx([0.95, 0.25])
    assert len(steps) == 2
    assert "Falcon 1 | Falcon 1 was released in 2016. | 2016" in judge.asked[0]
    assert "Falcon 1 | Ida Berg led it. | Ida Berg" in judge.asked[1]
    assert dspy.settings.lm is not lm
