"""A long run takes no more memory than a short one, and whoever records calls sees them all."""

import dspy
from dspy.clients import base_lm
from scripted_engine import ScriptedEngine, last_message

from polyqa.extractive import ExtractiveEngine, embedded_lm
from polyqa.lm.recent import KEPT, RecentLM
from polyqa.lm.recorder import recording


def test_the_latest_calls_are_remembered_and_all_recorded() -> None:
    lm = RecentLM("a/b", engine=ScriptedEngine(lambda text: f"answer: {text[-9:]}", given=last_message), cache=False)
    base_lm.GLOBAL_HISTORY.extend({"messages": []} for _ in range(KEPT))
    with recording(lm) as recorder:
        for number in range(KEPT + 20):
            lm(f"question {number}")
    assert len(recorder.calls) == KEPT + 20
    assert len(lm.history) == len(base_lm.GLOBAL_HISTORY) == KEPT
    assert lm.history[0]["prompt"] == "question 20"
    assert base_lm.GLOBAL_HISTORY[-1] is lm.history[-1]


def test_modules_remember_as_many() -> None:
    lm = RecentLM("a/b", engine=ScriptedEngine(lambda text: "[[ ## answer ## ]]\nyes", given=last_message), cache=False)
    program = dspy.Predict("question -> answer")
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
        for number in range(KEPT + 5):
            program(question=str(number))
    assert len(program.history) == KEPT


def test_what_is_saved_of_one_loads_as_dspys_own(engine: ExtractiveEngine) -> None:
    lm = embedded_lm(engine)
    assert isinstance(lm, RecentLM)
    assert type(dspy.BaseLM.load_state(lm.dump_state(), allow_custom_lm_class=True)) is dspy.LM
