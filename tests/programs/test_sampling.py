"""With the paper's preset every call is sampled as the publication does it, unless the user chose otherwise."""

from collections.abc import Callable
from typing import Any

import dspy
import pytest
from failing_engine import Failing
from openai_server import serve
from scripted_engine import ScriptedEngine

import polyqa
from polyqa.lm.sampling import keep, sampling_for
from polyqa.programs.registry import PROGRAMS

QUESTION = "When did Titanic come out?"
BRIDGE = "When was Tower Bridge opened?"
OWN = (0.9, 700)
DIVAS, GREEDY = (0.3, 300), (0.0, 700)
# temperature and limit of the calls; the user's own where the paper says nothing
PAPER: dict[str, set[tuple[float, int]]] = {
    "closed-book": {DIVAS},
    "query-refinement": {DIVAS},
    "rac": {DIVAS},
    "crag": {DIVAS},
    "diva": {DIVAS},
    "toc": {(0.7, 300), (0.0, 300)},
    "verdict": {GREEDY},
    "dtv": {GREEDY},
    "spanwise": {GREEDY},
    "madam-rag": {GREEDY},
    "jpr": {OWN},
    "self-rag": {OWN},
    "sixpaq": {OWN},
    "auto": {OWN},
}


def sent(program: dspy.Module, question: str, usual: ScriptedEngine, **settings: Any) -> set[tuple[float, int]]:
    """Return temperature and limit of the requests that a question sends."""
    with serve(usual) as server:
        given = {"temperature": OWN[0], "max_tokens": OWN[1], **settings}
        lm = dspy.LM("openai/e", api_base=server.base, api_key="none", cache=False, **given)
        with dspy.context(lm=lm):
            program(question=question)
        return {(one.get("temperature"), one["max_completion_tokens"]) for one in server.requests}


def test_the_table_has_every_program() -> None:
    assert PAPER.keys() == PROGRAMS.keys()


@pytest.mark.parametrize("name", PAPER)
def test_calls_are_sampled_as_the_paper_says_and_lean_as_the_user_says(
    name: str, make: Callable[..., Any], usual: ScriptedEngine
) -> None:
    question = BRIDGE if name == "sixpaq" else QUESTION
    assert sent(make(name, preset="paper"), question, usual) == PAPER[name]
    assert sent(make(name), question, usual) == {OWN}


@pytest.mark.parametrize(
    ("settings", "asked"),
    [
        ({}, {(0.7, 300), (0.0, 300)}),
        ({"temperature": 0.5}, {(0.5, 300)}),
        ({"max_tokens": 900}, {(0.7, 900), (0.0, 900)}),
    ],
)
def test_what_the_user_says_by_name_wins(
    settings: dict[str, Any], asked: set[tuple[float, int]], make: Callable[..., Any], usual: ScriptedEngine
) -> None:
    program = make("toc", preset="paper")
    with serve(usual) as server:
        lm = polyqa.language_model("openai/e", api_base=server.base, cache=False, **settings)
        polyqa.ask(QUESTION, program=program, lm=lm)
        assert {(one["temperature"], one["max_completion_tokens"]) for one in server.requests} == asked


def test_a_model_that_reasons_samples_as_it_likes() -> None:
    wanted = {"temperature": 0.0, "max_tokens": 300}
    assert sampling_for(dspy.LM("openai/gpt-5-mini", temperature=1.0, max_tokens=16_000), wanted) == {}
    assert sampling_for(None, wanted) == wanted
    another = dspy.LM("openai/gpt-4o", temperature=1.0).copy(rollout_id=2)
    assert sampling_for(another, wanted) == {"max_tokens": 300}
    assert sampling_for(keep(dspy.LM("openai/gpt-4o"), {"max_completion_tokens"}), wanted) == {"temperature": 0.0}


def test_a_second_try_is_not_the_same_again(make: Callable[..., Any], usual: ScriptedEngine) -> None:
    """A greedy call gives the same reply, so the second one is warmer."""

    with serve(Failing(usual, "relaxed_query", "")) as server:
        lm = dspy.LM("openai/e", api_base=server.base, api_key="none", cache=False, temperature=0.9)
        with dspy.context(lm=lm):
            make("verdict", preset="paper", universe=1)(question=QUESTION)
        assert [one["temperature"] for one in server.requests[:3]] == [0.0, 0.3, 0.0]
