import json
from collections.abc import Mapping
from itertools import count
from typing import Any

import dspy
import pytest
from found import Found
from scripted_engine import ScriptedEngine, scripted_lm
from usual_replies import USUAL

import polyqa
from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.extractive.prompt import Prompt
from polyqa.programs import DIVA, PROGRAMS, Steps
from polyqa.programs.registry import REGISTRY, limits_of, registered
from polyqa.programs.steps import Calls

EACH = ("crag", "self-rag", "madam-rag")
"""Programs that make a call for each passage."""


def exhausting(verdict: str) -> ScriptedEngine:
    """Replies that send a program down its longest road: as many readings as it takes, and nothing settled."""
    numbers = "1" if verdict == "Yes" else "none"
    many = [{"question": f"When did number {at} of it come out?", "answer": f"{at}"} for at in range(30)]
    values = {
        **USUAL,
        "pseudo_interpretations": json.dumps([one["question"] for one in many]),
        "interpretations": json.dumps(many),
        "answered": numbers,
        "supported": numbers,
        "fitting": verdict,
        "grade": "Ambiguous",
        "readings": "[]",
        "support": "Fully" if verdict == "Yes" else "No",
    }

    changing = count(1)  # agents that change their minds go on debating

    def reply(prompt: Prompt) -> Mapping[str, object]:
        values["short_answer"] = f"number {next(changing)}"
        return {name: values[name] for name in prompt.output_fields}

    return ScriptedEngine(reply)


def watched(steps: Steps[Any], waves: list[Calls]) -> Steps[Any]:
    """Pass steps on, and keep those that make calls."""
    step = next(steps)
    while True:
        if isinstance(step, Calls) and step.calls:
            waves.append(step)
        result = yield step
        try:
            step = steps.send(result)
        except StopIteration as end:
            return end.value


@pytest.mark.parametrize("name", [name for name, entry in REGISTRY.items() if "questions" not in entry.needs])
def test_a_program_makes_as_many_calls_as_it_says_and_no_more(name: str) -> None:
    program: Any = polyqa.load(name)
    steps = program.steps
    calls, depths = [], []
    for verdict in ("Yes", "No"):
        engine, waves = exhausting(verdict), list[Calls]()
        program.steps = lambda question, waves=waves: watched(steps(question), waves)
        with dspy.context(lm=scripted_lm(engine)):
            program(question="When did Titanic come out?")
        calls.append(len(engine.seen))
        depths.append(len(waves))
    if name == "toc":  # a language model may find any number of readings, each of which is verified
        assert limits_of(program) is None
        assert max(calls) > 10
        return
    limits = limits_of(program)
    assert limits is not None
    assert limits.depth == max(depths)
    if name == "spanwise":  # it asks about what the reader marks
        assert 8 < max(calls) <= limits.calls == 25
    elif name in EACH:
        assert max(calls) <= limits.calls
    else:
        assert max(calls) == limits.calls


@pytest.mark.parametrize("name", EACH)
def test_passages_that_are_read_together_count(name: str) -> None:
    fees = (Passage(pid=f"{at}", title=f"Contract ({at}) › Fees", text="The fee is 5.") for at in range(10))
    found = Found(*fees, step=0.01)
    program = PROGRAMS[name](found, found)
    limits, calls = limits_of(program), []
    assert limits is not None
    for verdict in ("Yes", "No"):
        with dspy.context(lm=scripted_lm(engine := exhausting(verdict))):
            assert len(program.retrieve("What is the fee?")) == 8
            program(question="What is the fee?")
        calls.append(len(engine.seen))
    assert 8 < max(calls) <= limits.calls


def test_settings_count() -> None:
    published = polyqa.load("diva", preset="paper", max_interpretations=3)
    assert limits_of(published) == (7, 5)
    assert limits_of(polyqa.load("dtv", preset="paper", max_interpretations=3, passages=4)) == (16, 5)
    assert limits_of(dspy.Predict("question -> answer")) is None
    own = type("Own", (DIVA,), {"__doc__": "It may make other calls."})
    assert limits_of(own(published.retriever, published.reranker)) is None


def test_an_unknown_name_is_told_the_known_ones() -> None:
    with pytest.raises(PolyqaError, match=r"Unknown program 'ask'; there are auto, .*dtv"):
        registered("ask")
