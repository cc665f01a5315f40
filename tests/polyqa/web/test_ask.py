"""Questions over HTTP: the answer, its steps as they end, what is refused, what happens when many ask."""

import asyncio
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from failing_engine import Failing
from hanging_engine import Hanging
from scripted_engine import ScriptedEngine, scripted_lm
from until import until
from web_server import Web, events, web_server

import polyqa
from polyqa.colbert_index import ColBERTIndex
from polyqa.extractive import MODEL_NAME, ExtractiveEngine
from polyqa.web import service
from polyqa.web.limits import WebLimits

QUESTION = "When did Solaris come out?"
STREAM = {"accept": "text/event-stream"}


def test_a_program_that_lacks_something_of_an_index_is_told_so(films: ColBERTIndex) -> None:
    with web_server([films], programs=["sixpaq"]) as web:
        told = httpx.post(f"{web.base}/ask", json={"question": QUESTION}, timeout=120)
    assert told.status_code == 400
    assert "sixpaq cannot answer over films, which has no database of questions" in told.text
    assert str(films.path.parent) not in told.text


def test_an_answer_is_that_of_python_and_says_more(client: httpx.Client, films: ColBERTIndex) -> None:
    found = client.post("/ask", json={"question": f"  {QUESTION} ", "program": "rac"}).json()
    own = polyqa.ask(QUESTION, program="rac", index=films).to_dict()
    assert {name: value for name, value in found.items() if name in own and name != "seconds"} == {
        name: value for name, value in own.items() if name != "seconds"
    }
    said = "".join(
        one["text"] if "text" in one else f"[{', '.join(map(str, one['cites']))}]" for one in found["pieces"]
    )
    assert said == found["cited_answer"]
    assert [one["number"] for one in found["evidence"]] == [1, 2, 3, 4, 5]
    for number, reading in enumerate(found["interpretations"], 1):
        (own_evidence,) = [one for one in found["evidence"] if number in one["readings"]]
        assert reading["answer"] in [part["text"] for part in own_evidence["text"] if part["mark"]]
        assert own_evidence["cited"]
    for passage, evidence in zip(found["passages"], found["evidence"], strict=True):
        assert "".join(part["text"] for part in evidence["text"]) == passage["text"]
    assert all(0.5 < sure <= 1 for sure in found["confidence"])
    (call,) = found["log"]
    assert call["name"] == "clarify"
    assert QUESTION in call["messages"][-1]["content"]
    assert (call["input_tokens"], call["output_tokens"]) == (found["input_tokens"], found["output_tokens"])
    assert "20 March 1972" in call["reply"]


@pytest.mark.parametrize(
    ("program", "kinds"),
    [
        ("rac", ["passages", "passages", "readings"]),
        ("diva", ["typing", "passages", "readings", "passages", "readings", "verdicts"]),
    ],
)
def test_steps_are_told_as_they_end(client: httpx.Client, program: str, kinds: list[str]) -> None:
    with client.stream("POST", "/ask", json={"question": QUESTION, "program": program}, headers=STREAM) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        told = events(response.read().decode())
    names = [name for name, _ in told]
    steps = [data for name, data in told if name == "step"]
    assert names == ["started", *["step"] * len(steps), "result"]
    assert sorted(step["kind"] for step in steps) == sorted(kinds)
    assert [step["number"] for step in steps] == list(range(1, len(steps) + 1))
    assert all(0 <= step["seconds"] <= step["at"] + 0.01 for step in steps)
    search = next(step["data"] for step in steps if step["name"] == "search")
    assert search["query"] == QUESTION
    assert {"pid", "title", "score"} == set(search["passages"][0])
    answer = next(step["data"] for step in steps if step["name"] == "clarify")
    assert answer["interpretations"][0]["question"]
    result = told[-1][1]
    assert (result["program"], result["lm"]) == (program, "polyqa/extractive")


def test_a_tree_has_its_nodes(client: httpx.Client) -> None:
    found = client.post("/ask", json={"question": QUESTION, "program": "toc"}).json()
    assert found["tree"]["question"] == QUESTION
    assert {child["pid"] for child in found["tree"]["children"]} >= {"solaris-1972", "solaris-2002"}


@pytest.mark.parametrize(
    ("body", "status", "kind", "says"),
    [
        ({"question": " \n "}, 400, "bad_request", "The question is empty"),
        ({"question": "x" * 2_001}, 400, "bad_request", "at most 2,000"),
        ({"question": "\ud800?"}, 400, "bad_request", "half"),
        ({"question": QUESTION, "program": "verdict"}, 404, "unknown", "there are rac, diva, toc"),
        ({"question": QUESTION, "program": "../compiled/rac-homonyms-local"}, 404, "unknown", "There is no program"),
        ({"question": QUESTION, "index": "/etc"}, 404, "unknown", "There is no index '/etc'; there are films"),
        ({"question": QUESTION, "api_base": "http://evil"}, 422, "bad_request", "api_base"),
        ({"question": ["a"]}, 422, "bad_request", "question: Input should be a valid string"),
        ({}, 422, "bad_request", "question: Field required"),
        ([], 422, "bad_request", "The request: "),
        ({"question": QUESTION, "index": "a" * 201}, 422, "bad_request", "index"),
    ],
)
def test_what_is_no_question_is_refused_in_a_sentence(
    client: httpx.Client, body: Any, status: int, kind: str, says: str
) -> None:
    response = client.post("/ask", content=json.dumps(body), headers={"content-type": "application/json", **STREAM})
    error = response.json()["error"]
    assert (response.status_code, error["kind"]) == (status, kind)
    assert says in error["message"]


@pytest.mark.parametrize(
    ("text", "kind", "says"),
    [
        ("", "application/json", "The request: send a JSON object"),
        ("{", "application/json", "The request is no JSON: Expecting property name enclosed in double quotes, at"),
        ('{"question": "' + "x" * 20, "application/json", "The request is no JSON: Unterminated string"),
        ("\ud800".encode("utf-8", "surrogatepass"), "application/json", ""),
        ('{"question": "Who?"}', "application/x-www-form-urlencoded", "with the header Content-Type: application/json"),
    ],
)
def test_what_is_no_json_is_refused(client: httpx.Client, text: str | bytes, kind: str, says: str) -> None:
    response = client.post("/ask", content=text, headers={"content-type": kind})
    error = response.json()["error"]
    assert response.status_code in (400, 422)
    assert error["kind"] == "bad_request"
    assert says in error["message"]


def test_a_time_out_of_somebody_else_is_no_answer_that_took_too_long(
    films: ColBERTIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hung(*given: object, **more: object) -> None:
        raise TimeoutError("a disk does not answer")

    monkeypatch.setattr(service, "aask", hung)
    with web_server([films], programs=["rac"]) as web:
        failed = httpx.post(f"{web.base}/ask", json={"question": QUESTION}, timeout=120)
    assert (failed.status_code, failed.json()["error"]["kind"]) == (503, "failed")


def test_a_model_that_fails_is_told_without_its_secrets(films: ColBERTIndex, caplog: pytest.LogCaptureFixture) -> None:
    failing = Failing(ExtractiveEngine(), "", RuntimeError("no route to http://10.0.0.1 with key sk-secret"))
    with web_server([films], lm=failing.lm()) as web, httpx.Client(base_url=web.base, timeout=120) as client:
        asked = {"question": QUESTION, "program": "rac"}
        plain = client.post("/ask", json=asked)
        streamed = events(client.post("/ask", json=asked, headers=STREAM).text)
        assert client.get("/health").json()["running"] == 0
    assert plain.status_code == 503
    assert plain.json()["error"]["kind"] == "failed"
    assert [name for name, _ in streamed][-1] == "error"
    told = {data["failed"] for _, data in streamed if data.get("failed")}
    assert told == {"The reply could not be had or read."}, "the second one is not asked for again"
    for text in (plain.text, str(streamed)):
        assert "sk-secret" not in text
        assert "10.0.0.1" not in text
    assert plain.headers["x-request-id"] in plain.text
    lines = [line.getMessage() for line in caplog.records if plain.headers["x-request-id"] in line.getMessage()]
    assert [line.split(",")[0].partition(": ")[2] for line in lines] == [
        "rac over films failed",
        "rac over films: failed",
    ]
    assert QUESTION not in " ".join(lines)


@pytest.mark.parametrize(
    ("question", "outcome"),
    [
        (QUESTION, "rac over films: answered, 3 readings, 1 call"),
        ("Who wrote Dune?", "rac over films: unanswered, 1 call"),
    ],
)
def test_the_log_says_how_a_question_stands(
    question: str, outcome: str, client: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="polyqa.web")
    client.post("/ask", json={"question": question, "program": "rac"})
    assert outcome in caplog.messages[-1]
    assert question not in caplog.text


def test_half_a_character_in_a_reply_breaks_no_answer(films: ColBERTIndex) -> None:
    lm = scripted_lm(ScriptedEngine(lambda prompt: {"answer": "In 1972 \ud83d."}))
    with web_server([films], lm=lm, programs=["closed-book"]) as web:
        asked = {"question": QUESTION, "program": "closed-book"}
        plain = httpx.post(f"{web.base}/ask", json=asked, timeout=120).json()
        streamed = events(httpx.post(f"{web.base}/ask", json=asked, headers=STREAM, timeout=120).text)
        chat = {"model": "closed-book", "messages": [{"role": "user", "content": QUESTION}]}
        said = httpx.post(f"{web.base}/v1/chat/completions", json=chat, timeout=120).json()
    assert plain["answer"] == streamed[-1][1]["answer"] == said["choices"][0]["message"]["content"]
    assert plain["answer"].startswith("In 1972 ")


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    engine = Hanging(ExtractiveEngine(), after=0)
    yield engine
    engine.released.set()


def test_a_question_too_many_is_told_when_to_come_again(films: ColBERTIndex, hanging: Hanging) -> None:
    limits = WebLimits(at_once=1, queue=1)
    with (
        web_server([films], lm=scripted_lm(hanging, MODEL_NAME), limits=limits) as web,
        httpx.Client(base_url=web.base, timeout=120) as client,
        ThreadPoolExecutor(2) as pool,
    ):
        asked = {"question": QUESTION, "program": "rac"}
        first = pool.submit(client.post, "/ask", json=asked)
        until(lambda: web.service.gate.running == 1)
        second = pool.submit(client.post, "/ask", json=asked, headers=STREAM)
        until(lambda: web.service.gate.waiting == 1)
        refused = client.post("/ask", json=asked, headers=STREAM)
        assert client.get("/health").json() == {
            "status": "ok",
            "version": polyqa.__version__,
            "lm": "polyqa/extractive",
            "running": 1,
            "waiting": 1,
            "answered": 0,
        }
        hanging.released.set()
        assert first.result().status_code == 200
        told = events(second.result().text)
        assert told[0] == ("waiting", {"place": 1})
        assert told[-1][0] == "result"
        assert client.get("/health").json()["answered"] == 2
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) >= 1
    assert "try again in" in refused.json()["error"]["message"]


def test_a_question_that_takes_too_long_is_given_up(films: ColBERTIndex, hanging: Hanging) -> None:
    limits = WebLimits(at_once=1, seconds=0.5)
    with web_server([films], lm=scripted_lm(hanging, MODEL_NAME), limits=limits, programs=["rac"]) as web:
        web.service.shelf.program("rac", "films")
        with httpx.Client(base_url=web.base, timeout=120) as client:
            slow = client.post("/ask", json={"question": QUESTION})
            until(lambda: web.service.gate.running == 0)
        hanging.released.set()
    assert (slow.status_code, slow.json()["error"]["kind"]) == (504, "too_slow")


@pytest.mark.parametrize("headers", [{}, STREAM], ids=["plain", "streamed"])
def test_who_goes_away_leaves_the_place_to_others(
    films: ColBERTIndex, hanging: Hanging, headers: dict[str, str]
) -> None:
    with web_server([films], lm=scripted_lm(hanging, MODEL_NAME), limits=WebLimits(at_once=1), programs=["rac"]) as web:

        async def ask_and_go() -> None:
            async with httpx.AsyncClient(base_url=web.base, timeout=120) as client:
                asking = asyncio.create_task(client.post("/ask", json={"question": QUESTION}, headers=headers))
                while not hanging.hanging:
                    await asyncio.sleep(0.01)
                asking.cancel()
                await asyncio.gather(asking, return_exceptions=True)

        asyncio.run(ask_and_go())
        until(lambda: web.service.gate.running == 0)
        hanging.released.set()
        assert httpx.post(f"{web.base}/ask", json={"question": QUESTION}, timeout=120).status_code == 200


def test_a_stop_finishes_what_runs(films: ColBERTIndex, hanging: Hanging) -> None:
    with ThreadPoolExecutor(2) as pool:
        with web_server([films], lm=scripted_lm(hanging, MODEL_NAME), programs=["rac"]) as web:
            asking = pool.submit(httpx.post, f"{web.base}/ask", json={"question": QUESTION}, timeout=120)
            until(lambda: hanging.hanging == 1)
            threading.Timer(0.5, hanging.released.set).start()
        assert asking.result().status_code == 200
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{web.base}/health")


def test_many_ask_at_once_and_each_gets_its_own_answer(web: Web) -> None:
    asked = [QUESTION, "Who directed Solaris?", "When was Solaris published?", "Who wrote Solaris?"] * 4

    def ask(question: str) -> Any:
        return httpx.post(f"{web.base}/ask", json={"question": question, "program": "rac"}, timeout=300).json()

    with ThreadPoolExecutor(len(asked)) as pool:
        found = list(pool.map(ask, asked))
    assert [one["question"] for one in found] == asked
    for one, other in zip(found, found[4:], strict=False):
        assert one["answer"] == other["answer"]
        assert [call["reply"] for call in one["log"]] == [call["reply"] for call in other["log"]]


def test_a_question_back_and_its_choice(client: httpx.Client) -> None:
    asked = {"question": QUESTION, "program": "rac"}
    back = client.post("/ask", json={**asked, "ask_back": True}).json()
    assert (back["asked_back"], back["answered"]) == (True, False)
    choices = back["clarification"]["choices"]
    told = events(client.post("/ask", json={**asked, "choice": choices[1]}, headers=STREAM).text)
    assert "step" not in [name for name, _ in told], "nothing is searched"
    chosen = client.post("/ask", json={**asked, "choice": choices[1]}).json()
    assert chosen["interpretations"] == [back["interpretations"][back["clarification"]["readings"][1]]]
    assert (chosen["calls"], chosen["asked_back"]) == (0, False)
    refused = client.post("/ask", json={**asked, "choice": "the opera"})
    assert refused.status_code == 400
    assert "none of the choices" in refused.json()["error"]["message"]


def test_a_client_sets_the_bar(client: httpx.Client) -> None:
    found = client.post("/ask", json={"question": QUESTION, "program": "rac", "min_confidence": 1}).json()
    assert (found["standing"], found["interpretations"]) == ("unanswered", [])
    assert client.post("/ask", json={"question": QUESTION, "min_confidence": 7}).status_code == 422
