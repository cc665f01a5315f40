from pathlib import Path
from typing import Any

import dspy
import pytest
from openai_server import serve
from scripted_engine import ScriptedEngine, last_message

from polyqa import LMSettings, Models, language_model
from polyqa.base.errors import PolyqaError
from polyqa.extractive import MODEL_NAME
from polyqa.language_models import REASONING_TOKENS, judge_model
from polyqa.lm.assigned import sampling
from polyqa.lm.sampling import DEFAULT_SAMPLING

PLAIN, THINKING = "openai/gpt-4o-mini", "openai/gpt-5-mini"
DEFAULTS, THOUGHTS = dict(DEFAULT_SAMPLING), {"max_completion_tokens": REASONING_TOKENS}


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")


@pytest.mark.parametrize(
    ("name", "given", "asked"),
    [
        (PLAIN, {}, DEFAULTS),
        (PLAIN, {"temperature": 0.0, "top_p": 0.9}, {**DEFAULTS, "temperature": 0.0, "top_p": 0.9}),
        (PLAIN, {"max_tokens": 50, "seed": 7}, {**DEFAULTS, "max_tokens": 50, "seed": 7}),
        (THINKING, {}, THOUGHTS),
        (THINKING, {"temperature": 1.0, "seed": 7}, {**THOUGHTS, "temperature": 1.0, "seed": 7}),
        (THINKING, {"max_tokens": 20_000}, {"max_completion_tokens": 20_000}),
        ("azure/o3-mini", {}, THOUGHTS),
        ("openai/gpt-5-chat", {}, DEFAULTS),
        ("ollama_chat/llama3.1", {}, DEFAULTS),
    ],
)
def test_a_model_is_asked_with_its_own_defaults_under_what_is_given(
    name: str, given: dict[str, Any], asked: dict[str, Any]
) -> None:
    assert sampling(language_model(name, **given)) == asked


@pytest.mark.parametrize("name", [PLAIN, THINKING])
def test_what_is_given_reaches_the_server(name: str) -> None:
    with serve(ScriptedEngine(lambda text: "hello", given=last_message)) as server:
        assert language_model(name, api_base=server.base, cache=False, seed=7)("hi") == ["hello"]
    (sent,) = server.requests
    assert sent["seed"] == 7
    assert sent["max_completion_tokens"] == (REASONING_TOKENS if name == THINKING else DEFAULTS["max_tokens"])
    assert sent.get("temperature") == (None if name == THINKING else DEFAULTS["temperature"])


def test_every_model_is_recorded_under_its_own_name(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl.gz"
    settings = LMSettings(record=path)
    with serve(ScriptedEngine(lambda text: "hello", given=last_message)) as server:
        models = Models(lm=f"{PLAIN}@{server.base}", helper_lm=f"openai/h@{server.base}", settings=settings)
        for lm in (models.answering(), models.helping(), judge_model(f"openai/j@{server.base}", settings)):
            assert lm("hi") == ["hello"]
    replayed = language_model(f"recorded/{path}@{PLAIN}")
    assert replayed("hi") == ["hello"]
    assert judge_model(f"recorded/{path}@openai/j")("hi") == ["hello"]
    assert sampling(replayed) == {**DEFAULTS, "replays": path.name}
    with pytest.raises(PolyqaError, match=r"openai/gpt-4o-mini, openai/h, openai/j"):
        language_model(f"recorded/{path}")


def test_a_file_that_was_replaced_is_another_model(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    lms = []
    for content in (b"GGUF", b"GGUG"):
        path.write_bytes(content)
        lms.append(language_model(f"local/{path}"))
    assert lms[0].model != lms[1].model
    assert lms[0].server is not lms[1].server


def test_a_judge_has_a_whole_name() -> None:
    with pytest.raises(PolyqaError, match="names no model"):
        judge_model("openai/@http://127.0.0.1:9/v1")


def test_a_judge_that_reasons_is_asked_with_no_temperature() -> None:
    assert sampling(judge_model(THINKING)) == THOUGHTS
    assert sampling(judge_model(PLAIN)) == {**DEFAULTS, "temperature": 0.0}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"temperature": -0.1}, "--temperature is at least 0"),
        ({"temperature": float("nan")}, "--temperature is at least 0"),
        ({"temperature": "0.7"}, "--temperature is a number, not '0.7'"),
        ({"max_tokens": 0}, "--max-tokens is at least 1"),
        ({"max_tokens": 1.5}, r"--max-tokens is a whole number, not 1\.5"),
        ({"temperature": True}, "--temperature is a number, not True"),
        ({"timeout": 0}, "--timeout is a number of seconds above 0"),
        ({"timeout": float("inf")}, "--timeout is a number of seconds above 0"),
        ({"retries": -1}, "--retries is at least 0"),
        ({"requests_per_minute": 0}, "--requests-per-minute is a number above 0, not 0"),
        ({"requests_per_minute": float("nan")}, "above 0, not nan"),
        ({"more": {"rpm": 5}}, "rpm has an option of its own"),
        ({"more": {"temperature": 1}}, "temperature has an option of its own"),
        ({"more": {"num_retries": 1}}, "num_retries has an option of its own"),
    ],
)
def test_settings_out_of_range_are_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(PolyqaError, match=told):
        LMSettings(**given)
    if "more" not in given:
        with pytest.raises(PolyqaError, match=told):
            language_model(PLAIN, **given)


def test_a_limit_of_requests_is_refused_for_a_model_on_this_machine() -> None:
    with pytest.raises(PolyqaError, match="no provider limits it"):
        language_model("local", requests_per_minute=5)


def make_all(models: Models) -> tuple[dspy.LM, dspy.LM | None]:
    return models.answering(), models.helping()


@pytest.mark.parametrize(
    ("models", "told"),
    [
        (Models(settings=LMSettings(temperature=0.1)), f"{MODEL_NAME} runs in this process and has no --temperature"),
        (Models(settings=LMSettings(timeout=5)), "has no --timeout"),
        (Models(settings=LMSettings(requests_per_minute=5)), "has no --requests-per-minute"),
        (Models(settings=LMSettings(more={"top_p": 1})), "has no --lm-set"),
        (Models(judge=PLAIN, settings=LMSettings(temperature=0.1)), "has no --temperature"),
        (Models(judge=PLAIN, settings=LMSettings(more={"threads": 1})), "has no --lm-set"),
        (Models(THINKING, settings=LMSettings(temperature=0.3)), "require passing temperature=1.0"),
        (Models(THINKING, settings=LMSettings(max_tokens=1000)), "max_tokens >= 16000"),
        (Models(PLAIN, settings=LMSettings(more={"prompt_cache": 1})), "cannot be asked so"),
        (Models(PLAIN, helper_lm="gpt-4o"), "names no provider; .* such as openai/gpt-4o or"),
        (Models(PLAIN, helper_lm=""), "'' names no provider"),
        (Models(PLAIN, helper_lm="openai/"), "'openai/' names no model"),
        (Models("openai//"), "'openai//' names no model"),
        (Models("openai/m@localhost:8000/v1"), r"begins with .* such as @http://localhost:8000/v1\.$"),
        (Models(PLAIN, helper_lm="openai/m@gpu.example.com:80"), r"such as @http://gpu\.example\.com:80\.$"),
        (Models(dspy.LM(PLAIN), settings=LMSettings(record="a.jsonl.gz")), "openai/gpt-4o-mini is made already"),
        (Models(dspy.LM(PLAIN), api_base="http://127.0.0.1:9/v1"), "give the address where it is made"),
        (Models(PLAIN, helper_lm=f"{MODEL_NAME}@http://127.0.0.1:9"), "takes no address"),
    ],
)
def test_models_that_cannot_be_asked_so_are_refused(models: Models, told: str) -> None:
    with pytest.raises(PolyqaError, match=told):
        make_all(models)


@pytest.mark.parametrize(
    ("helper", "asked"),
    [(PLAIN, {**DEFAULTS, "temperature": 0.0, "max_tokens": 20_000}), (THINKING, THOUGHTS), (MODEL_NAME, {})],
)
def test_the_helper_is_asked_as_the_other_where_it_can_be(helper: str, asked: dict[str, Any]) -> None:
    settings = LMSettings(temperature=0.0, max_tokens=20_000, more={"seed": 7}, timeout=9, retries=1)
    lm = Models(PLAIN, helper_lm=helper, settings=settings).helping()
    assert isinstance(lm, dspy.LM)
    assert sampling(lm) == asked


def test_any_variable_that_a_provider_takes_its_key_from_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(PolyqaError, match="set the environment variable GEMINI_API_KEY, or"):
        language_model("gemini/gemini-2.5-flash")
    monkeypatch.setenv("GOOGLE_API_KEY", "key")
    assert "api_key" not in language_model("gemini/gemini-2.5-flash").kwargs


def test_models_that_are_made_have_the_address() -> None:
    made = Models(PLAIN, api_base="http://127.0.0.1:9/v1").instantiated()
    assert made.answering().kwargs["api_base"] == "http://127.0.0.1:9/v1"


def test_what_a_judge_or_a_writer_heeds_is_given_beside_the_embedded_engine() -> None:
    settings = LMSettings(timeout=9, requests_per_minute=5, more={"threads": 1})
    models = Models(prompt_lm="local", judge=PLAIN, api_base="http://127.0.0.1:9/v1", settings=settings)
    assert models.answering().model == MODEL_NAME


def test_the_helper_needs_an_address_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prompts that are meant for a server here go nowhere else."""
    monkeypatch.delenv("OPENAI_API_KEY")
    models = Models("openai/a", helper_lm="openai/b", api_base="http://127.0.0.1:9")
    with pytest.raises(PolyqaError, match="OPENAI_API_KEY, or name a local server, such as openai/b@http://"):
        models.helping()


@pytest.mark.parametrize(
    ("name", "api_base", "address"),
    [
        (f"{PLAIN}@http://a/v1", None, "http://a/v1"),
        (f"{PLAIN}@https://a/v1", "http://b/v1", "https://a/v1"),
        (PLAIN, "http://b/v1", "http://b/v1"),
        ("vertex_ai/claude@20240620", None, None),
    ],
)
def test_the_address_of_a_server_may_stand_behind_the_name(
    name: str, api_base: str | None, address: str | None
) -> None:
    lm = language_model(name, api_base=api_base)
    assert (lm.model, lm.kwargs.get("api_base")) == (name.partition("@http")[0], address)
