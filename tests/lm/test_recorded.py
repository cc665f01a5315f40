"""Replies are recorded over HTTP and replayed: the same text, usage and stream, and nothing is asked twice."""

import asyncio
import gc
import gzip
import json
import re
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.lm15 import response_to_events
from dspy.utils.exceptions import LMConfigurationError, LMInvalidRequestError
from openai_server import Server, Wire, completion, serve
from scripted_engine import ScriptedEngine, last_message, scripted_lm

import polyqa
from polyqa.base.errors import PolyqaError
from polyqa.extractive import AsyncExtractiveEngine
from polyqa.lm.adapter import LeanAdapter
from polyqa.lm.assigned import sampling
from polyqa.lm.attempts import CallLog
from polyqa.lm.client import CallTimeoutError
from polyqa.lm.recorded import MissingReplyError, recorded
from polyqa.lm.recorder import recording
from polyqa.lm.reply_file import Recording, pack
from polyqa.signatures import GradePassage

MODEL = "openai/m"
Ask = Callable[..., Any]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "replies.jsonl.gz"


@pytest.fixture
def server() -> Iterator[Server]:
    """Serve replies that are counted, so that no two are the same."""
    numbers = iter(range(1, 10_000))
    engine = ScriptedEngine(lambda text: f"{text} {next(numbers)} \u2019", given=last_message, usage=(7, 3))
    with serve(engine) as server:
        yield server


def real(server: Server, **settings: Any) -> dspy.LM:
    return polyqa.language_model(f"{MODEL}@{server.base}", **{"api_key": "sk-secret", "cache": False, **settings})


def records_of(path: Path) -> list[dict[str, Any]]:
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    return [json.loads(line) for line in lines[1:]]


def test_a_better_grammar_leaves_a_recording_worth_what_it_was(server: Server, path: Path) -> None:
    lm = recorded(path, real(server))
    free, fitted = lm("one"), lm("one", metadata={"grammar": "root ::= [a-z]+"})
    assert lm("one", metadata={"grammar": "root ::= [A-Z]+"}) == fitted != free
    assert len(server.requests) == 2
    pack(path)
    assert all("root" not in json.dumps(record["settings"]) for record in records_of(path))


def test_a_recording_is_packed_when_its_language_model_is_gone(server: Server, path: Path) -> None:
    lm = recorded(path, real(server))
    lm("one")
    assert not path.exists()
    del lm
    gc.collect()
    assert [file.name for file in path.parent.glob(f"{path.name}*")] == [path.name]


def test_what_was_recorded_is_replayed_and_never_asked_again(ask: Ask, server: Server, path: Path) -> None:
    lm = recorded(path, real(server, temperature=0.7, seed=5))
    with recording(lm) as first:
        replies = [ask(lm, "one"), ask(lm, "two"), ask(lm, "one")]
    assert replies[0] == replies[2] != replies[1]
    assert len(server.requests) == 2
    assert server.requests[0]["temperature"] == 0.7
    replay = polyqa.recorded(path)  # what is not packed yet, too
    with recording(replay) as second:
        assert [ask(replay, "one"), ask(replay, "two"), ask(replay, "one")] == replies
    assert second.calls == first.calls, "messages, replies and tokens"
    for usage in (first, second):
        assert (usage.requests, usage.input_tokens, usage.output_tokens) == (3, 21, 9)
    assert len(server.requests) == 2
    assert replay.model == MODEL
    assert sampling(replay) == {"temperature": 0.7, "max_tokens": 1000, "seed": 5, "replays": path.name}


def test_a_file_holds_no_key_and_no_address(server: Server, path: Path) -> None:
    recorded(path, real(server))("one")
    text = gzip.decompress(path.read_bytes()).decode()
    assert "sk-secret" not in text
    assert server.base not in text
    (record,) = records_of(path)
    assert list(record) == ["key", "model", "settings", "messages", "reply", "finish", "usage", "seconds"]
    assert record["messages"] == [{"role": "user", "content": "one"}]
    assert record["usage"] == {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
    assert record["seconds"] > 0


def test_other_replies_to_the_same_request_are_kept_apart(ask: Ask, server: Server, path: Path) -> None:
    def several(lm: dspy.LM) -> list[Any]:
        other = lm.copy(rollout_id=2)
        return [ask(lm, "one"), ask(lm, "one", rollout_id=1), ask(other, "one"), ask(lm, "one", n=3, temperature=0.9)]

    replies = several(recorded(path, real(server)))
    assert len({text for reply in replies for text in reply}) == 6
    assert several(polyqa.recorded(path)) == replies


def test_at_temperature_0_there_is_one_reply(server: Server, path: Path) -> None:
    lm = recorded(path, real(server, temperature=0.0))
    with warnings.catch_warnings(record=True):
        assert lm("one") == lm("one", rollout_id=1)


@pytest.mark.parametrize(
    ("text", "change", "told"),
    [
        ("What is up?\nAnswer:", {}, r"recorded 'user: When is it\?.*', asked 'user: What is"),
        ("When is it?", {"temperature": 0.5}, r"recorded '.*\\ntemperature: 0\.3', asked '.*\\ntemperature: 0\.5'"),
        ("When is it?", {"rollout_id": 3}, r"recorded '.*', asked '.*\\nrollout_id: 3\\n"),
    ],
)
def test_what_is_not_recorded_is_said(
    text: str, change: dict[str, Any], told: str, ask: Ask, server: Server, path: Path
) -> None:
    recorded(path, real(server))("When is it?")
    with pytest.raises(MissingReplyError) as error:
        ask(polyqa.recorded(path), text, **change)
    said = str(error.value)
    assert f"replies.jsonl.gz has no reply of {MODEL}" in said
    assert repr(text.partition("\n")[0]) in said
    assert f"--lm {MODEL} --record {path}" in said
    assert re.search(told, said), said


class Streaming(ScriptedEngine):
    """Streams its reply in three pieces."""

    def stream(self, request: Any) -> Any:
        for event in response_to_events(self.complete(request)):
            if event.type != "delta":
                yield event
                continue
            text = event.delta.text
            for piece in (text[:20], text[20:30], text[30:]):
                yield replace(event, delta=replace(event.delta, text=piece))


class AsyncStreaming(AsyncExtractiveEngine):
    async def stream(self, request: Any) -> Any:
        for event in self.engine.stream(request):
            yield event


def chunks_and_reply(lm: dspy.LM, text: str, *, asynchronous: bool) -> tuple[str, str]:
    program = dspy.Predict("question -> answer")
    program.lm = lm

    async def listen() -> tuple[str, str]:
        stream = dspy.streamify(
            program, stream_listeners=[dspy.streaming.StreamListener("answer")], is_async_program=asynchronous
        )
        chunks, last = "", ""
        async for event in stream(question=text):
            if isinstance(event, dspy.streaming.StreamResponse):
                chunks += event.chunk
            elif isinstance(event, dspy.Prediction):
                last = event.answer
        return chunks, last

    return asyncio.run(listen())


@pytest.mark.parametrize("asynchronous", [False, True], ids=["threads", "awaited"])
def test_a_stream_is_recorded_and_replayed(asynchronous: bool, path: Path) -> None:
    engine = Streaming(lambda prompt: {"answer": "in April 1997"})
    with dspy.context(adapter=dspy.ChatAdapter()):
        for _ in range(2):  # asked, then from the file
            whole = dspy.LM("tests/streaming", engine=engine, async_engine=AsyncStreaming(engine), cache=False)
            lm = recorded(path, whole)
            assert chunks_and_reply(lm, "when?", asynchronous=asynchronous) == ("in April 1997", "in April 1997")
            assert len(engine.seen) == 1
        del lm
        replay = polyqa.recorded(path)
        assert chunks_and_reply(replay, "when?", asynchronous=asynchronous) == ("in April 1997", "in April 1997")


def test_the_time_limit_and_why_a_reply_ended_stay(ask: Ask, path: Path) -> None:
    late = serve(ScriptedEngine(lambda text: "late", given=last_message), latency=30)
    with late as server, pytest.raises(CallTimeoutError, match="--timeout"):
        ask(recorded(path, real(server, timeout=0.3)), "one")
    assert len(Recording(path)) == 0

    class CutOff:
        def complete(self, request: Any) -> Any:
            raise Wire(completion("a long", "length"))

    with serve(CutOff()) as server:
        assert ask(recorded(path, real(server)), "one") == ["a long"]
    replay = polyqa.recorded(path)
    ask(replay, "one")
    assert replay.history[-1]["response"].finish_reason == "length"


TOOL_CALL = {"id": "1", "type": "function", "function": {"name": "search", "arguments": "{}"}}


@pytest.mark.parametrize(
    "beside", [{"reasoning_content": "Hm."}, {"tool_calls": [TOOL_CALL]}], ids=["thoughts", "call"]
)
def test_a_text_is_kept_whatever_stands_beside_it(ask: Ask, beside: dict[str, Any], path: Path) -> None:
    body = json.loads(completion("In 1997."))
    body["choices"][0]["message"] |= beside

    class Thinking:
        def complete(self, request: Any) -> Any:
            raise Wire(json.dumps(body))

    def text_of(replies: list[Any]) -> Any:
        return replies[0]["text"] if isinstance(replies[0], dict) else replies[0]

    with serve(Thinking()) as server:
        assert text_of(ask(recorded(path, real(server)), "one")) == "In 1997."
        assert text_of(ask(polyqa.recorded(path), "one")) == "In 1997."
        tool = {"type": "function", "function": {"name": "search", "description": "", "parameters": {}}}
        if "tool_calls" in beside:
            with pytest.raises(LMInvalidRequestError, match="this reply has a tool_call"):
                ask(recorded(path, real(server)), "one", tools=[tool])


def test_settings_that_only_a_server_knows_are_sent_and_recorded(ask: Ask, server: Server, path: Path) -> None:
    settings = {"min_p": 0.1, "extra_body": {"guided_choice": ["a"]}}
    lm = recorded(path, real(server, **settings))
    replies = ask(lm, "one")
    (sent,) = server.requests
    assert (sent["min_p"], sent["guided_choice"]) == (0.1, ["a"])
    assert lm.kwargs.items() >= settings.items()
    assert ask(polyqa.recorded(path), "one") == replies
    with pytest.raises(MissingReplyError, match="extensions"):
        ask(polyqa.recorded(path, min_p=0.2), "one")
    ask(lm, "one", response_format=GradePassage)
    assert server.requests[1]["response_format"]["type"] == "json_schema"


def test_threads_record_into_one_file(server: Server, path: Path) -> None:
    lms = [recorded(path, real(server)) for _ in range(2)]
    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(lambda number: lms[number % 2](f"text {number}"), range(24)))
    lms.clear()
    replay = polyqa.recorded(path)
    assert [replay(f"text {number}") for number in range(24)] == replies


def test_a_second_attempt_has_a_reply_of_its_own(path: Path) -> None:
    replies = iter(["no grade", "Correct", "never asked"])
    engine = ScriptedEngine(lambda text: next(replies), given=last_message)
    predictor, inputs = dspy.Predict(GradePassage), {"question": "When?", "passage": "In 1997."}
    for make in (lambda: recorded(path, scripted_lm(engine)),) * 2 + (lambda: polyqa.recorded(path),):
        with dspy.context(lm=make().copy(temperature=0.5), adapter=LeanAdapter()):
            outcome = CallLog.of(predictor).call(predictor, inputs)
        assert outcome.failed is None
        assert len(engine.seen) == 2


def test_a_file_that_cannot_be_written_costs_no_call(server: Server, path: Path) -> None:
    path.parent.joinpath("file").write_text("")
    with pytest.raises(PolyqaError, match="cannot be written"):
        recorded(path.parent / "file" / "folder" / "replies.jsonl.gz", real(server))
    assert server.requests == []


def test_a_reply_that_cannot_be_written_down_is_an_error(server: Server, path: Path) -> None:
    lm = recorded(path, real(server))
    path.with_name(f"{path.name}.new").mkdir()
    with pytest.raises(LMConfigurationError, match=r"\.new cannot be written"):
        lm("one")


def test_a_file_of_several_models_says_their_names(path: Path) -> None:
    for model in ("openai/a", "openai/b"):
        engine = ScriptedEngine(lambda text: model, given=last_message)  # noqa: B023  called in this round
        recorded(path, dspy.LM(model, engine=engine, cache=False))("hi")
    for wrong in (None, "openai/c"):
        with pytest.raises(PolyqaError, match=r"openai/a, openai/b.*recorded/.*@openai/a"):
            polyqa.recorded(path, model=wrong)
    assert polyqa.recorded(path, model="openai/a")("hi") == ["openai/a"]
    assert polyqa.language_model(f"recorded/{path}@openai/b")("hi") == ["openai/b"]


def test_only_texts_are_recorded(path: Path) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    lm = recorded(path, dspy.LM(MODEL, engine=ScriptedEngine(lambda text: "hi", given=last_message), cache=False))
    with pytest.raises(LMInvalidRequestError, match="texts only"):
        lm(messages=[{"role": "user", "content": [image, {"type": "text", "text": "what?"}]}])


def test_only_requests_of_dspy_are_recorded(path: Path) -> None:
    with pytest.raises(PolyqaError, match=r"A recording is of a dspy\.LM"):
        recorded(path, dspy.utils.DummyLM([{"answer": "x"}]))  # type: ignore[arg-type]


def test_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolyqaError, match=r"replies\.jsonl\.gz, not"):
        polyqa.recorded(tmp_path / "replies.json")


def test_a_saved_program_comes_back_with_its_recording(server: Server, path: Path, tmp_path: Path) -> None:
    lm = recorded(path, real(server))
    program = dspy.Predict("question -> answer")
    program.lm = lm
    assert lm("one") == program.deepcopy().lm("one")
    program.save(tmp_path / "program.json")
    loaded = dspy.Predict("question -> answer")
    loaded.load(tmp_path / "program.json", allow_unsafe_lm_state=True)
    assert loaded.lm("one") == lm("one")
    assert "sk-secret" not in (tmp_path / "program.json").read_text()
