import json
import socket
from typing import Any

import dspy
import pytest
from refusals import told

import polyqa
from polyqa import costing
from polyqa.base.errors import PolyqaError
from polyqa.costing import Estimate, cost
from polyqa.evaluation.prices import Price
from polyqa.lm.recorder import recording
from polyqa.programs.registry import limits_of
from polyqa.question_sets import Questions

QUESTION = "When did Titanic come out?"
PRICES = {
    "openai/big": Price(1e-3, 1e-1),
    "openai/small": Price(1e-6, 1e-5),
    "polyqa/extractive": Price(0.0, 0.0),
}


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is sent, whatever is asked for; prices are known ones."""
    real = socket.socket.connect

    def connect(self: socket.socket, address: Any) -> None:
        assert self.family == getattr(socket, "AF_UNIX", None), f"something connects to {address}"
        real(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(costing, "price_of", PRICES.get)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.mark.parametrize("name", ["rac-homonyms-local", "crag"])
def test_calls_and_tokens_are_those_of_a_real_run(name: str) -> None:
    program = polyqa.load(name)
    with recording(polyqa.language_model()) as recorder:
        program(question=QUESTION)
    found = cost(program, question=QUESTION, lm="polyqa/extractive")
    assert found.calls.mean == found.calls.low == found.calls.high == len(recorder.calls)
    assert (found.input_tokens.mean, found.output_tokens.mean) == (recorder.input_tokens, recorder.output_tokens)
    assert (found.most_calls, found.depth) == limits_of(program)
    assert (found.program, found.source, found.tokenizer) == (type(program).__name__, "your question", "embedded")
    assert found.dollars == (0, 0, 0)


def test_steps_sum_to_the_whole() -> None:
    found = cost("diva", Questions("homonyms/dev", limit=2))
    assert sum(step.calls for step in found.steps) == pytest.approx(found.calls.mean)
    assert sum(step.output_tokens for step in found.steps) == pytest.approx(found.output_tokens.mean)
    assert sum(step.input_tokens for step in found.steps) == pytest.approx(found.input_tokens.mean)
    for spread in (found.calls, found.input_tokens, found.output_tokens):
        assert spread.low <= spread.mean <= spread.high
    assert (len(found.questions), found.source, found.tokenizer) == (2, "homonyms/dev", "o200k_base")
    assert (found.lm, found.dollars) == (None, None)


def test_settings_reach_the_program() -> None:
    few, many = (cost("verdict", question=QUESTION, universe=size) for size in (2, 10))
    assert (few.calls.mean, many.calls.mean) == (4, 12)
    assert few.depth == many.depth == 3
    assert few.input_tokens.mean < many.input_tokens.mean


def test_money_is_tokens_by_price() -> None:
    found = cost("closed-book", question=QUESTION, lm="openai/big")
    assert found.dollars.mean == pytest.approx(found.input_tokens.mean * 1e-3 + found.output_tokens.mean * 1e-1)
    assert cost("closed-book", question=QUESTION, lm=dspy.LM("openai/big", api_key="none")) == found
    assert cost("closed-book", question=QUESTION, lm="openai/unheard-of").dollars is None


def test_each_language_model_has_its_own_price() -> None:
    asked = Questions("homonyms/dev", limit=2)
    program = polyqa.load("diva", preset="lean")
    found = cost(program, asked, lm="openai/big", helper_lm="openai/small")
    models = {step.step: step.lm for step in found.steps}
    assert {name for name, lm in models.items() if lm == "openai/small"} == {"classify", "infer", "verify"}
    assert set(models.values()) == {"openai/big", "openai/small"}
    assert sum(step.dollars or 0.0 for step in found.steps) == pytest.approx(found.dollars.mean)
    assert program.classify.lm is None  # the program is not changed
    assert json.loads(json.dumps(found.to_dict()))["steps"][0]["lm"] in models.values()
    assert cost("diva", asked, lm="openai/big", helper_lm="openai/unheard-of", preset="lean").dollars is None


def test_no_language_model_of_a_predictor_is_asked() -> None:
    program = polyqa.load("query-refinement")
    program.refine.lm = dspy.LM("openai/small", api_key="none")
    assert {step.lm for step in cost(program, question=QUESTION, lm="openai/big").steps} == {
        "openai/big",
        "openai/small",
    }
    assert program.refine.lm.model == "openai/small"


def test_an_estimate_multiplies_one_question() -> None:
    each = cost("closed-book", question=QUESTION, lm="openai/big")
    said = str(Estimate([(100, each)]))
    assert said == (
        f"100 runs of the program, about 100 calls, {100 * each.input_tokens.mean:,.0f} + "
        f"{100 * each.output_tokens.mean:,.0f} tokens, ${100 * each.dollars.mean:,.2f}"
    )
    assert str(Estimate([(1, cost("closed-book", question=QUESTION))], "the runs of GEPA")).endswith(
        "price unknown; not counted: the runs of GEPA"
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"program": "oracle"}, "Unknown program 'oracle'"),
        ({"question": "  "}, "question is empty"),
        ({"questions": "missing.json"}, "missing.json"),
        ({"index": "nowhere"}, "polyqa index build"),
        ({"program": "rac", "bark": "oak"}, "rac has no setting 'bark'"),
        ({"program": "rac", "helper_lm": "openai/small"}, "no call that a helper could make"),
        ({"program": "diva", "helper_lm": "openai/"}, "names no model"),
    ],
)
def test_mistakes_are_told(given: dict[str, Any], message: str) -> None:
    assert message in told(cost, **given)


def test_no_question_has_no_cost() -> None:
    with pytest.raises(PolyqaError, match="There is no question to reckon with"):
        cost(question=[])
