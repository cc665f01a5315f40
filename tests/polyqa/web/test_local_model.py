"""`polyqa serve` with a language model on this machine."""

import httpx
import pytest
from local_model import NAME, local_lm
from scripted_engine import ScriptedEngine, scripted_lm
from web_server import events, web_server

from polyqa.colbert_index import ColBERTIndex

QUESTION = "When did Solaris come out?"


@pytest.mark.slow
@pytest.mark.parametrize("streamed", [False, True])
def test_it_answers_on_the_page_and_as_events(films: ColBERTIndex, streamed: bool) -> None:
    lm = local_lm(context=4096, max_tokens=60)
    headers = {"accept": "text/event-stream"} if streamed else {}
    with web_server([films], lm=lm, programs=["closed-book"]) as web:
        reply = httpx.post(f"{web.base}/ask", json={"question": QUESTION}, headers=headers, timeout=120)
    assert reply.status_code == 200, reply.text
    assert NAME in reply.text
    assert not streamed or "event: result" in reply.text
    assert ("event: writing" in reply.text) is streamed


@pytest.mark.parametrize("model", ["local/imitated", "hosted/imitated"])
def test_its_replies_are_sent_as_they_are_written(films: ColBERTIndex, model: str) -> None:
    engine = ScriptedEngine(lambda prompt: {"answer": "It came out twice."})
    headers = {"accept": "text/event-stream"}
    with web_server([films], lm=scripted_lm(engine, model), programs=["closed-book"]) as web:
        reply = httpx.post(f"{web.base}/ask", json={"question": QUESTION}, headers=headers, timeout=120)
    told = events(reply.text)
    pieces = [data for name, data in told if name == "writing"]
    assert "It came out twice." in told[-1][1]["answer"]
    if model.startswith("hosted"):
        assert not pieces
        return
    names = [name for name, _ in told]
    assert names.index("writing") < names.index("step")
    (step,) = (data["name"] for name, data in told if name == "step")
    assert {piece["name"] for piece in pieces} == {step}
    assert "It came out twice." in "".join(piece["text"] for piece in pieces)
