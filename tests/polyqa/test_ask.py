import asyncio
import threading
from typing import Any

import dspy
import pytest

import polyqa
from polyqa import asking
from polyqa.base.values import Interpretation, Passage


class SaysYes(dspy.Module):
    """A program whose language model says yes, from a passage."""

    def forward(self, question: str) -> dspy.Prediction:
        passage = Passage(pid="ship", title="RMS Titanic", text="The Titanic sank in April 1912.")
        reading = Interpretation(question=question, answer="Yes", pid="ship")
        return dspy.Prediction(answer="Yes, she did.", interpretations=[reading], passages=[passage])


def test_a_yes_of_a_language_model_is_an_answer_and_the_embedded_engine_quotes() -> None:
    asked = "Did the Titanic sink in 1912?"
    result = polyqa.ask(asked, program=SaysYes(), lm=dspy.LM("openai/other"))
    assert (result.standing, result.answer) == ("answered", "Yes, she did.")
    quoted = polyqa.ask(asked, program="rac")
    assert (quoted.standing, quoted.interpretations) == ("unanswered", ())
    assert quoted.answer.startswith("polyqa/extractive quotes passages and cannot say yes or no.")
    assert "15 April 1912" in quoted.answer


@pytest.mark.parametrize("question", ["Did the Berenike sink in 1912?", "Do you know when Titanic came out?"])
def test_what_nothing_mentions_and_a_polite_question_are_answered_as_others_are(question: str) -> None:
    assert "cannot say yes or no" not in polyqa.ask(question, program="rac").answer


def test_what_the_embedded_engine_passes_over_is_told_with_the_answer() -> None:
    program = polyqa.load("rac")
    assert polyqa.ask("When did Titanic come out?", program=program).unheeded == {}
    own = program.clarify.signature
    added = "Give only one reading. Write like a poet. Say No when in doubt."
    program.clarify.signature = own.with_instructions(f"{own.instructions}\n{added}")
    told = polyqa.ask("When did Titanic come out?", program=program)
    assert len(told.interpretations) == 1
    assert told.unheeded == {"clarify": ("Write like a poet.", "Say No when in doubt.")}


def test_what_is_loaded_does_not_block_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded_in = []
    ready = asking.ready_program

    def noted(*given: Any) -> Any:
        loaded_in.append(threading.current_thread())
        return ready(*given)

    monkeypatch.setattr(asking, "ready_program", noted)
    assert asyncio.run(polyqa.aask("When did Titanic come out?", program="rac")).answer
    assert threading.main_thread() not in loaded_in
    assert len(loaded_in) == 1
