"""What llama.cpp is asked, with added weights and seeds and without; a stand-in answers over HTTP."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dspy.lm15 import Request, Response
from openai_server import Server, Wire, serve

from polyqa.lm.local import LocalEngine, LocalLM, LocalServer, LocalSettings, process
from polyqa.lm.recorded import attempt, recorded

ADDED = {"metadata": {"lora": "read-passage"}}


class Yes:
    """Streams one word, or an error where it is told to."""

    def complete(self, request: Request) -> Response:
        if "fail" in (request.messages[-1].text or ""):
            raise Wire('{"error": {"message": "it failed"}}', status=400)
        choice = {"index": 0, "delta": {"role": "assistant", "content": "Yes"}, "finish_reason": "stop"}
        chunk = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [choice]}
        raise Wire(f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n", content_type="text/event-stream")


@pytest.fixture
def llama(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with serve(Yes()) as server:
        monkeypatch.setattr(LocalServer, "address", lambda _: server.base.removesuffix("/v1"))
        yield server


def local(monkeypatch: pytest.MonkeyPatch, *loras: str, **more: Any) -> LocalLM:
    monkeypatch.setattr(process, "lora_files", lambda _: {name: Path(f"{name}.gguf") for name in loras})
    settings = LocalSettings(threads=1, slots=1)
    return LocalLM("local/m", LocalEngine(Path("m.gguf"), "m", settings), cache=False, **more)


def test_calls_with_added_weights_have_the_last_slot(llama: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    lm = local(monkeypatch, "read-passage")
    assert lm.reads_passages
    assert lm("Say Yes. Is it?", **ADDED) == lm("Tell a story.") == lm("Say Yes. Was it?", **ADDED) == ["Yes"]
    assert lm("Write a poem.") == lm("Tell a joke.") == ["Yes"]
    assert [request["id_slot"] for request in llama.requests] == [1, 0, 1, 0, 0]
    on = [{"id": 0, "scale": 1.0}]
    assert [request.get("lora") for request in llama.requests] == [on, None, on, None, None]


def test_a_model_without_added_weights_is_asked_without_them(llama: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    lm = local(monkeypatch)
    assert not lm.reads_passages
    lm("Is it?", **ADDED)
    assert ("lora" in llama.requests[0], llama.requests[0]["id_slot"]) == (False, 0)


def test_a_slot_is_given_back_after_an_error(llama: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    lm = local(monkeypatch)
    for _ in range(3):
        with pytest.raises(Exception, match="it failed"):
            lm("fail")
    assert lm("Is it?") == ["Yes"]


def test_each_call_gets_the_weights_that_it_names(llama: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    lm = local(monkeypatch, "tell-findings", "read-passage")
    for name in ("read-passage", "tell-findings", "of another model"):
        lm("Say Yes.", metadata={"lora": name})
    on = [[{"id": number, "scale": 1.0}] for number in (1, 0)]
    assert [request.get("lora") for request in llama.requests] == [*on, None]


@pytest.mark.parametrize("seed", [0, 5])
def test_a_seed_is_part_of_what_is_recorded(
    llama: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seed: int
) -> None:
    lm = local(monkeypatch, seed=seed, temperature=1.0)
    assert lm.copy(temperature=0.0).kwargs.get("seed", 0) == seed
    recording = recorded(tmp_path / "r.jsonl.gz", lm)
    for asked in (lm, recording):
        asked("Hi.", rollout_id=2)
        with attempt(2):
            asked("Hi.")
        asked("Hi.", seed=7)
    assert [request["seed"] for request in llama.requests] == [seed + 2, seed + 1, 7] * 2
    keys = {record.request.key for record in recording.engine.recording}
    other = recorded(tmp_path / "other.jsonl.gz", local(monkeypatch, seed=1, temperature=1.0))
    other("Hi.", rollout_id=2)
    assert keys.isdisjoint(record.request.key for record in other.engine.recording)
    assert {record.request.settings.get("seed") for record in recording.engine.recording} == {seed or None, 7}
