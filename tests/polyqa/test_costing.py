import socket
from typing import Any

import dspy
import pytest
from refusals import told

import polyqa
from polyqa.costing import Cost, cost
from polyqa.evaluation import prices
from polyqa.lm.recorder import recording
from polyqa.programs.registry import most_calls
from polyqa.question_sets import Questions

QUESTION = "When did Titanic come out?"
PRICES = {
    "big": {"input_cost_per_token": 1e-3, "output_cost_per_token": 1e-1, "litellm_provider": "openai"},
    "small": {
        "input_cost_per_token": 1e-6,
        "output_cost_per_token": 1e-5,
        "cache_read_input_token_cost": 1e-7,
        "prompt_cache_min_tokens": 100,
        "litellm_provider": "openai",
    },
}


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is sent, whatever is asked for; prices are known ones."""
    real = socket.socket.connect

    def connect(self: socket.socket, address: Any) -> None:
        assert self.family == getattr(socket, "AF_UNIX", None), f"something connects to {address}"
        real(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(prices, "_prices", lambda: PRICES)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.mark.parametrize("name", ["rac-homonyms", "crag"])
def test_calls_and_tokens_are_those_of_a_real_run(name: str) -> None:
    program = polyqa.load(name)
    with recording(polyqa.language_model()) as recorder:
        program(question=QUESTION)
    found = cost(program, question=QUESTION, tokenizer_name="embedded")
    assert found.calls.mean == found.calls.low == found.calls.high == len(recorder.calls)
    assert (found.input_tokens.mean, found.output_tokens.mean) == (recorder.input_tokens, recorder.output_tokens)
    assert found.most_calls == most_calls(program)
    assert (found.program, found.source) == (type(program).__name__, "your question")


def check_sums(found: Cost) -> None:
    steps = found.steps
    assert sum(step.calls for step in steps) == pytest.approx(found.calls.mean)
    assert sum(step.output_tokens for step in steps) == pytest.approx(found.output_tokens.mean)
    assert sum(step.input_tokens for step in steps) == pytest.approx(found.input_tokens.mean)
    assert sum(found.parts.values()) == pytest.approx(found.input_tokens.mean)
    for spread in (found.calls, found.depth, found.input_tokens, found.cached_tokens, found.output_tokens):
        assert spread.low <= spread.mean <= spread.high


def test_steps_and_parts_sum_to_the_whole() -> None:
    found = cost("diva", Questions("homonyms/dev", limit=3))
    check_sums(found)
    assert len(found.questions) == 3
    assert found.source == "homonyms/dev"
    assert found.depth.high <= found.calls.low
    assert found.parts["demos"] == 0 < found.parts["passages"]
    assert (found.lm, found.price, found.dollars, found.dollars_cached) == (None, None, None, None)
    assert found.tokenizer == "o200k_base"


def test_settings_reach_the_program() -> None:
    few, many = (cost("verdict", question=QUESTION, universe=size) for size in (2, 10))
    assert (few.calls.mean, many.calls.mean) == (4, 12)
    assert few.depth == many.depth == (3, 3, 3)
    assert few.parts["passages"] < many.parts["passages"]


def test_money_is_tokens_by_price() -> None:
    plain = cost("verdict", question=QUESTION, lm="openai/big")
    assert plain.dollars is not None
    assert plain.dollars.mean == pytest.approx(plain.input_tokens.mean * 1e-3 + plain.output_tokens.mean * 1e-1)
    assert plain.dollars_cached is None, "the list has no price of cached input"
    assert cost("closed-book", question=QUESTION, lm="openai/unheard-of").dollars is None
    free = cost("closed-book", question=QUESTION, lm="polyqa/extractive").dollars
    assert free is not None
    assert free.mean == 0


def test_what_prompts_begin_alike_with_is_cheaper() -> None:
    asked = Questions("homonyms/dev", limit=3)
    found = cost("verdict", asked, lm="openai/small")
    assert found.dollars is not None
    assert found.dollars_cached is not None
    saved = found.cached_tokens.mean * (1e-6 - 1e-7)
    assert found.dollars.mean - found.dollars_cached.mean == pytest.approx(saved)
    assert found.parts["instructions"] <= found.cached_tokens.mean < found.input_tokens.mean
    assert cost("verdict", asked, lm="openai/big").cached_tokens.mean == 0, "too short for most providers to cache"


def test_a_predictors_own_language_model_has_its_own_price() -> None:
    program = polyqa.load("query-refinement")
    program.refine.lm = dspy.LM("openai/small", api_key="none")
    found = cost(program, question=QUESTION, lm="openai/big")
    helped, own = found.steps
    assert found.dollars is not None
    assert found.dollars.mean == pytest.approx(
        helped.input_tokens * 1e-6 + helped.output_tokens * 1e-5 + own.input_tokens * 1e-3 + own.output_tokens * 1e-1
    )
    assert program.refine.lm.model == "openai/small"


def test_each_language_model_has_its_share() -> None:
    asked = Questions("homonyms/dev", limit=2)
    found = cost("diva", asked, lm="openai/big", helper_lm="openai/small", preset="lean")
    main, helper = found.lms
    assert (main.lm, helper.lm) == ("openai/big", "openai/small")
    assert set(helper.steps) == {"classify", "infer", "verify"}
    assert set(main.steps) & set(helper.steps) == set()
    for field, whole in (("calls", found.calls), ("input_tokens", found.input_tokens), ("dollars", found.dollars)):
        assert whole is not None
        assert getattr(main, field) + getattr(helper, field) == pytest.approx(whole.mean), field
    assert helper.dollars == pytest.approx(helper.input_tokens * 1e-6 + helper.output_tokens * 1e-5)
    assert [one["lm"] for one in found.to_dict()["lms"]] == ["openai/big", "openai/small"]
    alone = cost("diva", asked, lm="openai/big", preset="lean")
    assert alone.calls == found.calls
    assert [one.lm for one in alone.lms] == ["openai/big"]


def test_a_made_program_is_not_changed_by_the_helper_that_is_priced() -> None:
    program = polyqa.load("diva", preset="lean")
    assert len(cost(program, question=QUESTION, lm="openai/big", helper_lm="openai/small").lms) == 2
    assert program.classify.lm is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"program": "oracle"}, "Unknown program 'oracle'"),
        ({"question": "  "}, "question is empty"),
        ({"tokenizer_name": "gpt-0"}, "--tokenizer"),
        ({"questions": "missing.json"}, "missing.json"),
        ({"index": "nowhere"}, "polyqa index build"),
        ({"program": "rac", "bark": "oak"}, "rac has no setting 'bark'"),
        ({"program": "rac", "helper_lm": "openai/small"}, "no call that a helper could make"),
    ],
)
def test_mistakes_are_told(given: dict[str, Any], message: str) -> None:
    assert message in told(cost, **given)
