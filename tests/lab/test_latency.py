import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

import polyqa
from lab.latency import Latency, Timing, measure
from lab.latency_server import make_server, prompt_key, serving

PROMPT = [("system", "Be brief."), ("user", "Who wrote Dune?")]
REPLIES = {prompt_key(PROMPT): "Frank Herbert."}


def ask(address: str, prompt: list[tuple[str, str]]) -> str:
    body = {"model": "prepared", "messages": [{"role": role, "content": text} for role, text in prompt]}
    request = urllib.request.Request(f"{address}/chat/completions", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=30) as response:
        return str(json.load(response)["choices"][0]["message"]["content"])


@pytest.fixture
def here() -> Iterator[str]:
    server = make_server(REPLIES, 0.1)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    server.server_close()
    thread.join()


def test_every_reply_takes_its_time(here: str) -> None:
    started = time.perf_counter()
    assert ask(here, PROMPT) == "Frank Herbert."
    assert time.perf_counter() - started >= 0.1


def test_a_prompt_that_was_not_prepared_is_an_error(here: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        ask(here, [*PROMPT[:1], ("user", "Who wrote Emma?")])
    assert caught.value.code == 400
    assert "ends with 'Who wrote Emma?'" in caught.value.read().decode()


def test_the_servers_process_ends_with_the_block() -> None:
    with serving(REPLIES, 0.01) as address:
        assert ask(address, PROMPT) == "Frank Herbert."
    with pytest.raises(urllib.error.URLError):
        ask(address, PROMPT)


def test_a_question_waits_for_its_round_trips_and_no_more() -> None:
    questions = ["Who founded Alexandria?", "Who wrote Dune?"]
    latency = 0.5
    timed = measure(lambda: polyqa.load("verdict", universe=4), "When did Titanic come out?", questions, latency)
    assert (timed.calls, timed.depth) == (6, 3)
    for seconds, own in ((timed.called, timed.own_called), (timed.awaited, timed.own_awaited)):
        assert seconds >= 3 * latency, "three calls wait for each other"
        assert 0 < own < seconds
    assert min(timed.called, timed.awaited) < 6 * latency, "calls that do not wait for each other go out at once"


def test_the_table_is_in_round_trips_the_deepest_last() -> None:
    deep = Timing(calls=8, depth=5, called=2.75, awaited=2.6, own_called=0.25, own_awaited=0.1)
    flat = Timing(calls=1, depth=1, called=0.52, awaited=0.51, own_called=0.02, own_awaited=0.01)
    programs = {"deep": deep, "flat": flat}
    table = Latency(command="", date="", questions="", index="", latency=0.5, programs=programs).table()
    assert table.splitlines()[2:] == [
        "| `flat` | 1.0 | 1.0 | 1.04 | 1.02 | 20 | 10 |",
        "| `deep` | 8.0 | 5.0 | 5.50 | 5.20 | 250 | 100 |",
    ]
