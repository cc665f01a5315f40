"""Questions are trusted as far as the model copies their answer out of the passage again."""

import math

import dspy
import pytest
from dspy.lm15 import Message, Request, Response, TokenLogprob, TopLogprob, Usage

from polyqa.base.values import Passage
from polyqa.lm.client import RecentLM
from polyqa.programs.passages_read import READING
from polyqa.programs.questions_judged import trust_in_questions

PASSAGE = Passage(pid="a", title="Falcon 1", text="Falcon 1 was released in 2016. Ida Berg led it.")
COPIED = {"released": ("in 2016", 0.05), "led": ("Ida Berg", 0.75), "built": ("2016", 0.01)}


class Judge:
    """Copies an answer, and is as sure as it is told that there is none."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    def complete(self, request: Request) -> Response:
        self.requests.append(request)
        question = (request.messages[-1].text or "").partition("## passage")[0]
        text, none = next(reply for word, reply in COPIED.items() if word in question)
        first = text.split()[0]
        top = (TopLogprob(first, math.log(1 - none)), TopLogprob("none", math.log(none)))
        tokens = (TokenLogprob(first, math.log(1 - none), top=top),)
        return Response(None, request.model, Message.assistant(text), "stop", Usage(), tokens)

    def close(self) -> None:
        pass


def test_trust_is_how_likely_the_passage_answers_and_with_that_answer() -> None:
    judge, steps = Judge(), list[int]()
    lm = RecentLM("tests/judge", engine=judge, cache=False)
    lm.gives_probabilities = True
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
