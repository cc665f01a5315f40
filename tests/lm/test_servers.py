"""Language models as people run them: imitations of servers, asked by names and addresses from documentation."""

import asyncio
import re
import time
import uuid
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.utils import exceptions as dspy_errors
from imitations import CONTEXT, GOOD, drip, imitate
from raw_server import serve_bytes

import polyqa
from polyqa.base.errors import PolyqaError
from polyqa.cli.errors import explain
from polyqa.lm.adapter import LeanAdapter
from polyqa.lm.attempts import CallLog
from polyqa.lm.client import CallTimeoutError
from polyqa.lm.local import LocalEngine, LocalLM, LocalSettings
from polyqa.lm.sampling import DIVA_SAMPLING, sampling_for
from polyqa.lm.servers import NEAR_TIMEOUT, TIMEOUT, needs_litellm

LONG = "word " * CONTEXT


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    for provider in ("ANTHROPIC", "AZURE", "OPENROUTER", "OPENAI"):
        monkeypatch.setenv(f"{provider}_API_KEY", "none")
    monkeypatch.setenv("AZURE_API_VERSION", "2024-12-01-preview")


def model(name: str, address: str, **settings: Any) -> dspy.LM:
    return polyqa.language_model(name, api_base=address, cache=False, retries=0, **settings)


@pytest.mark.parametrize(
    ("server", "name", "at", "given", "path", "sent"),
    [
        ("ollama", "ollama_chat/m", "", {}, "/v1/chat/completions", {"max_tokens": 1000}),
        ("ollama", "ollama_chat/m", "/", {}, "/v1/chat/completions", {"temperature": 0.3}),
        ("ollama", "ollama_chat/m", "/v1", {}, "/v1/chat/completions", {}),
        ("ollama", "ollama_chat/m", "/api", {}, "/v1/chat/completions", {}),
        ("ollama", "ollama/m", "", {}, "/v1/chat/completions", {}),
        ("ollama", "openai/m", "/v1", {}, "/v1/chat/completions", {}),
        ("ollama", "ollama_chat/m", "", {"num_ctx": 8192}, "/api/chat", {"options.num_ctx": 8192}),
        ("ollama", "ollama_chat/m", "/v1", {"num_ctx": 8192}, "/api/chat", {"options.num_predict": 1000}),
        ("ollama", "ollama_chat/m", "/v1/", {"top_k": 20}, "/api/chat", {"options.top_k": 20}),
        ("ollama", "ollama_chat/m", "", {"think": False}, "/api/chat", {"think": False}),
        ("ollama", "ollama_chat/m", "", {"engine": "litellm"}, "/api/chat", {}),
        ("lmstudio", "openai/m", "/v1", {}, "/v1/chat/completions", {}),
        ("lmstudio", "lm_studio/m", "/v1", {}, "/v1/chat/completions", {}),
        ("vllm", "openai/team/models/R1", "/v1", {}, "/v1/chat/completions", {"model": "team/models/R1"}),
        ("vllm", "hosted_vllm/m", "/v1", {}, "/v1/chat/completions", {}),
        ("vllm", "openai/m", "/v1/chat/completions", {}, "/v1/chat/completions", {}),
        ("vllm", "openai/m", "/v1", {"min_p": 0.1}, "/v1/chat/completions", {"min_p": 0.1}),
        ("vllm", "openai/m", "/v1", {"top_p": 0.9}, "/v1/chat/completions", {"top_p": 0.9}),
        ("llamacpp", "openai/m", "/v1", {}, "/v1/chat/completions", {}),
        ("llamacpp", "openai/m", "", {}, "/chat/completions", {}),
        ("anthropic", "anthropic/claude-sonnet-4-5", "", {}, "/v1/messages", {"temperature": 0.3}),
        ("anthropic", "anthropic/claude-opus-4-1", "/v1", {}, "/v1/messages", {}),
        ("anthropic", "anthropic/claude-opus-4-7", "", {"temperature": None}, "/v1/messages", {"temperature": None}),
        ("anthropic", "anthropic/claude-sonnet-4-6", "", {"temperature": 0}, "/v1/messages", {"temperature": 0}),
        ("anthropic", "anthropic/claude-haiku-4-5", "", {"top_p": None}, "/v1/messages", {"temperature": 0.3}),
        ("anthropic", "anthropic/claude-opus-4-5", "", {"temperature": None, "top_p": 0.9}, "/v1/messages", {}),
        ("azure", "azure/plain", "", {}, "/openai/deployments/plain/chat/completions", {"temperature": 0.3}),
        ("azure", "azure/my-o3-deployment", "", {}, "/openai/deployments/my-o3-deployment/chat/completions", {}),
        ("azure", "azure/o3-mini", "", {}, "/openai/deployments/o3-mini/chat/completions", {}),
        (
            "azure",
            "azure/thinker",
            "",
            {"reasons": True},
            "/openai/deployments/thinker/chat/completions",
            {"max_completion_tokens": 16_000, "temperature": None},
        ),
        ("openrouter", "openrouter/openai/o3-mini", "/api/v1", {}, "/api/v1/chat/completions", {"temperature": None}),
        ("openrouter", "openrouter/x/y", "/api/v1", {}, "/api/v1/chat/completions", {"model": "x/y"}),
    ],
)
def test_a_server_is_asked_as_it_wants_to_be(
    server: str, name: str, at: str, given: dict[str, Any], path: str, sent: dict[str, Any]
) -> None:
    with imitate(server) as one:
        assert model(name, one.root + at, **given)("hi") == [GOOD]
    assert one.asked[-1][0] == path
    body = one.body
    for where, value in {"top_p": given.get("top_p"), **sent}.items():
        outer, _, inner = where.partition(".")
        assert (body[outer][inner] if inner else body.get(outer)) == value


@pytest.mark.parametrize(
    ("server", "name", "at", "prompt", "kind", "says"),
    [
        ("vllm", "openai/m", "", "hi", None, ("404", "/chat/completions", "Not Found", "--api-base", "/v1")),
        ("lmstudio", "openai/m", "", "hi", None, ("404", "Unexpected endpoint", "--api-base", "/v1")),
        ("ollama", "openai/m", "", "hi", None, ("404", "404 page not found", "/v1")),
        ("ollama", "ollama_chat/missing", "", "hi", None, ("404", "try pulling it first", "model's name")),
        ("vllm", "openai/missing", "/v1", "hi", None, ("404", "The model `missing` does not exist", "model's name")),
        ("vllm", "openai/m", "/v1", LONG, dspy_errors.ContextWindowExceededError, ("400", "length is 4096", "-k")),
        ("llamacpp", "openai/m", "/v1", LONG, dspy_errors.ContextWindowExceededError, ("400", "--ctx-size", "-k")),
        ("tgi", "openai/tgi", "/v1", LONG, dspy_errors.ContextWindowExceededError, ("422", "less than 4096", "-k")),
        ("anthropic", "anthropic/claude-opus-4-7", "", "hi", None, ("400", "/v1/messages", "--lm-set NAME=null")),
        ("azure", "azure/thinker", "", "hi", None, ("400", "Unsupported parameter", "reasons=true")),
        ("azure", "azure/missing", "", "hi", None, ("404", "does not exist", "model's name")),
        ("openrouter", "openrouter/poor/model", "/api/v1", "hi", dspy_errors.LMBillingError, ("402", "credits")),
        ("openrouter", "openrouter/broken/model", "/api/v1", "hi", dspy_errors.LMServerError, ("502", "Provider")),
    ],
)
def test_an_error_tells_status_address_and_what_to_do(
    server: str, name: str, at: str, prompt: str, kind: type[Exception] | None, says: tuple[str, ...]
) -> None:
    with imitate(server) as one:
        lm = model(name, one.root + at)
        with pytest.raises(kind or dspy_errors.LMError) as raised:
            lm(prompt)
        with pytest.raises(kind or dspy_errors.LMError) as awaited:
            asyncio.run(lm.acall(prompt))
    text, code = explain(raised.value)
    assert code == 2
    assert explain(awaited.value)[0] == text
    assert not [part for part in (*says, one.root) if part not in text], text
    assert "To fix" not in text


@pytest.mark.parametrize("name", ["openai/connect-7b", "openai/api-key-timeout", "openai/unauthorized"])
def test_words_in_a_name_or_message_do_not_choose_what_is_said(name: str) -> None:
    with serve_bytes(lambda: [_refusal(name)]) as base:
        text, _ = explain(_raised(model(name, base)))
    assert "the server refused the request (400 from " in text
    assert "the upstream model refused" in text
    assert "cannot be reached" not in text
    assert "key variable" not in text


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (
            # Of https://generativelanguage.googleapis.com/v1beta/openai
            '[{"error": {"code": 400, "message": "User location is not supported.", "status": "FAILED_PRECONDITION"}}]',
            ("the server refused the request", "User location is not supported."),
        ),
        (
            '{"error": {"message": "Unable to access model m", "code": "model_not_available"}}',  # of Together
            ("no such model", "Unable to access model m", "Is the model's name right"),
        ),
    ],
)
def test_what_a_server_says_is_found_where_it_says_it(body: str, says: tuple[str, ...]) -> None:
    head = f"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    with serve_bytes(lambda: [(head + body).encode()]) as base:
        text, _ = explain(_raised(model("openai/m", base)))
    assert not [part for part in says if part not in text], text


@pytest.mark.parametrize("body", [b"<html><body>It works!</body></html>", b'{"id": "chatcmpl-1", "choices": ['])
def test_a_page_or_half_a_reply_is_told_in_one_line_with_what_to_do(body: bytes) -> None:
    with serve_bytes(lambda: [b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body]) as base:
        text, code = explain(_raised(model("openai/m", base)))
    assert code == 2
    assert text.startswith(
        "[openai/m] what the server sent is no reply of a language model (200 from http://127.0.0.1:"
    )
    assert body[:20].decode() in text
    assert text.endswith("Does --api-base end as the server wants it (mostly in /v1)? Or does a proxy stand before it?")
    assert "…" not in text


@pytest.mark.parametrize("body", [b'{"generated_text": "Alba"}', b'{"message": {"content": "Alba"}}', b"{}"])
def test_a_reply_in_another_api_is_no_empty_reply(body: bytes) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    with serve_bytes(lambda: [head + body]) as base:
        text, _ = explain(_raised(model("openai/m", base)))
    assert "the server has no such model or address" in text
    assert "does --api-base end as the server wants it" in text
    assert "Alba" in text or body == b"{}"


def test_a_server_that_does_not_run_is_named() -> None:
    text, _ = explain(_raised(model("openai/m", "http://127.0.0.1:9/v1")))
    assert "cannot be reached (http://127.0.0.1:9/v1/chat/completions)" in text
    assert "--api-base" in text


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("openai/m", {"tempratur": 1}, "no setting 'tempratur'. Do you mean temperature?"),
        ("openai/m", {"max_token": 5}, "Do you mean max_tokens?"),
        ("openai/m", {"num_ctx": 5}, "Ollama's own API.*Write ollama_chat/m"),
        ("openai/m", {"top_k": 5}, "asked without top_k.*engine=litellm"),
        ("anthropic/m", {"seed": 5}, "asked without seed"),
        ("ollama_chat/m", {"num_ctx": 5, "requests_per_minute": 5}, "Only LiteLLM sends num_ctx"),
    ],
)
def test_a_setting_that_would_be_lost_is_refused_at_once(name: str, given: dict[str, Any], says: str) -> None:
    with pytest.raises(PolyqaError, match=says):
        model(name, "http://127.0.0.1:9/v1", **given)


def test_settings_that_are_known_or_may_be_a_server_s_own_are_taken() -> None:
    known: list[dict[str, Any]] = [{"extra_body": {"mine": 1}}, {"api_version": "1"}, {"logprobs": True}]
    for given in (*known, {"drop_params": True}, {"reasoning_format": "none"}, {"of_a_server_of_tomorrow": 1}):
        assert model("openai/m", "http://127.0.0.1:9/v1", **given).kwargs.items() >= given.items()


def test_null_leaves_a_setting_out_whatever_a_preset_wants() -> None:
    settings = polyqa.LMSettings(more={"temperature": None, "max_tokens": None})
    models = polyqa.Models("openai/m@http://127.0.0.1:9", helper_lm="openai/h@http://127.0.0.1:9", settings=settings)
    for lm in (models.answering(), models.helping()):
        assert isinstance(lm, dspy.LM)
        assert (lm.kwargs["temperature"], lm.kwargs["max_tokens"]) == (None, None)
        assert sampling_for(lm, DIVA_SAMPLING) == {}


@pytest.mark.parametrize(
    ("name", "address", "seconds"),
    [
        ("openai/m", None, TIMEOUT),
        ("openai/m", "https://api.example.com/v1", TIMEOUT),
        ("openai/m", "http://8.8.8.8/v1", TIMEOUT),
        ("openai/m", "http://localhost:8000/v1", NEAR_TIMEOUT),
        ("openai/m", "http://10.0.0.7:8000/v1", NEAR_TIMEOUT),
        ("openai/m", "http://[::1]:8000/v1", NEAR_TIMEOUT),
        ("openai/m", "http://host.docker.internal:8000/v1", NEAR_TIMEOUT),
        ("openai/m", "http://gpu-box:8000/v1", NEAR_TIMEOUT),
        ("ollama_chat/m", None, NEAR_TIMEOUT),
    ],
)
def test_a_server_near_by_has_half_an_hour(name: str, address: str | None, seconds: float) -> None:
    lm = polyqa.language_model(name, api_base=address)
    assert getattr(lm, "timeout", None) == seconds


def test_a_first_token_may_take_its_time() -> None:
    with imitate("llamacpp", pause=1.5) as server:
        assert model("openai/m", f"{server.root}/v1")("hi") == [GOOD]
        with pytest.raises(CallTimeoutError, match="--timeout"):
            model("openai/m", f"{server.root}/v1", timeout=0.3)("hi again")


@pytest.mark.parametrize(
    "behaviour",
    [
        {"text": "<think>Okay, the user asks who built it and so"},
        {"text": None, "thoughts": "Okay, hm, still thinking"},
        {"text": ""},
    ],
)
@pytest.mark.parametrize("name", ["openai/m", "lm_studio/m"])
def test_thoughts_that_are_cut_name_the_option(behaviour: dict[str, Any], name: str) -> None:
    with imitate("vllm", finish="length", **behaviour) as server:
        lm = model(name, f"{server.root}/v1", max_tokens=50)
        with dspy.context(lm=lm, adapter=LeanAdapter()), pytest.raises(dspy_errors.AdapterParseError) as raised:
            CallLog().call(dspy.Predict("question -> answer"), {"question": "Who built it?"})
    text, _ = explain(raised.value)
    assert "was cut off after 50 tokens" in text
    assert "--max-tokens" in text


@pytest.mark.parametrize("provider", ["openai", "lm_studio"])
@pytest.mark.parametrize("dripping", [True, False])
@pytest.mark.parametrize("awaits", [True, False])
def test_a_streamed_call_has_a_deadline(provider: str, dripping: bool, awaits: bool) -> None:
    async def ask(lm: dspy.LM) -> None:
        with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
            listener, predict = dspy.streaming.StreamListener("answer"), dspy.Predict("question -> answer")
            stream = dspy.streamify(predict, stream_listeners=[listener], is_async_program=awaits)
            async for _ in stream(question="hi"):
                pass

    def say() -> Any:
        return drip(b": alive\n\n", 0.1) if dripping else [b"HTTP/1.1 200 OK\r\n"]

    with serve_bytes(say) as base:
        lm = polyqa.language_model(f"{provider}/{uuid.uuid4().hex}", api_base=base, timeout=0.5, api_key="none")
        started = time.monotonic()
        with pytest.raises((CallTimeoutError, ExceptionGroup)) as raised:
            asyncio.run(ask(lm))
        assert time.monotonic() - started < 15
    assert isinstance(raised.value, CallTimeoutError) or raised.group_contains(CallTimeoutError)


def _raised(lm: dspy.LM) -> Exception:
    with pytest.raises(dspy_errors.LMError) as raised:
        lm("hi")
    return raised.value


def _refusal(name: str) -> bytes:
    text = f"{name}: the upstream model refused this prompt, timeout, connect, api key"
    body = f'{{"error": {{"message": "{text}", "type": "invalid_request_error", "code": "policy"}}}}'.encode()
    head = b"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    return head + body


def test_a_typing_error_is_found_for_a_model_on_this_machine_too(tmp_path: Path) -> None:
    lm = LocalLM("local/m", LocalEngine(tmp_path / "m.gguf", "m", LocalSettings(threads=1)))
    with pytest.raises(PolyqaError, match=r"local/m has no setting 'thread'. Do you mean threads\?"):
        needs_litellm(lm, {"thread": 2})
    with pytest.raises(PolyqaError, match="cannot be asked so"):
        needs_litellm(lm, {"stop": 5})
    assert not needs_litellm(lm, {"top_p": 0.9, "seed": 3})


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("http://[::1/v1", "Invalid IPv6 URL"),
        ("localhost:8000/v1", "it begins with http://"),
        ("http:///v1", "it begins"),
    ],
)
def test_what_is_no_address_is_told(address: str, why: str) -> None:
    with pytest.raises(PolyqaError, match=re.escape(f"{address!r} is no address of a server: {why}")):
        polyqa.language_model("openai/m", api_base=address)
