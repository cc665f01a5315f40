"""The lean preset: the same said in fewer calls that wait for each other less."""

from collections.abc import Callable
from typing import Any

import dspy
import pytest
from scripted_engine import ScriptedEngine, scripted_lm
from usual_replies import USUAL

from polyqa.lm.recorder import recording
from polyqa.programs.registry import REGISTRY, limits_of

NONSENSE = "Which quokka won the quantum ukulele sprint on Enceladus?"
TITANIC = ("When did Titanic come out?", "Who wrote Dune?", NONSENSE)
BRIDGE = ("When was Tower Bridge opened?", "Which river does Tower Bridge cross?", NONSENSE)
QUESTIONS = {**dict.fromkeys(("rac", "jpr", "crag", "self-rag", "diva", "dtv", "auto"), TITANIC), "sixpaq": BRIDGE}
Make = Callable[..., Any]


@pytest.mark.parametrize("name", QUESTIONS)
def test_lean_says_what_the_paper_s_calls_say_in_fewer(name: str, make: Make, embedded: dspy.LM) -> None:
    paper, lean = make(name, preset="paper"), make(name, preset="lean")
    spared = 0
    for question in QUESTIONS[name]:
        with recording(embedded) as many:
            there = paper(question=question)
        with recording(embedded) as few:
            here = lean(question=question)
        assert sorted(here.interpretations, key=str) == sorted(there.interpretations, key=str)
        assert here.passages == there.passages
        assert here.get("coverage") == there.get("coverage")
        if name != "auto":  # which tells the likeliest reading first where it writes the answer in a call of its own
            assert here.answer == there.answer
        limits = limits_of(lean)
        assert limits is not None
        assert len(few.calls) <= limits.calls
        spared += len(many.calls) - len(few.calls)
    assert spared > 0


def test_auto_writes_again_what_a_reading_is_taken_from(make: Make) -> None:
    doubting = {**USUAL, "supported": [1]}
    engine = ScriptedEngine(lambda prompt: {name: doubting[name] for name in prompt.output_fields})
    with dspy.context(lm=scripted_lm(engine)):
        result = make("auto", preset="lean")(question=QUESTIONS["auto"][0])
    assert len(result.interpretations) == 1
    assert result.verdicts == [True, False]
    assert len(engine.seen) == 6
    assert len(engine.asked("answer")) == 2


# Tree of Clarifications leaves out more repetitions with lean, see test_tree, and MADAM-RAG agents, see test_madam_rag.
@pytest.mark.parametrize("name", [name for name in REGISTRY if name not in {*QUESTIONS, "toc", "madam-rag"}])
def test_programs_that_put_nothing_together_make_the_same_calls_with_both(
    name: str, make: Make, embedded: dspy.LM
) -> None:
    said = []
    for preset in ("paper", "lean"):
        program = make(name, preset=preset)
        with recording(embedded) as recorder:
            prediction = program(question=TITANIC[0])
        said.append((prediction.answer, sorted(str(call.messages) for call in recorder.calls), limits_of(program)))
    assert said[0] == said[1]
