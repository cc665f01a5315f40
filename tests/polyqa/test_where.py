"""A condition on passages wherever questions are asked: command line, Python, HTTP, MCP."""

import asyncio
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from web_server import Web, web_server

import polyqa
from polyqa.artifacts.store import CARD, compiled_home
from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.batch import answer_many
from polyqa.colbert_index import ColBERTIndex, build_index
from polyqa.evaluation.identity import RunIdentity
from polyqa.language_models import Models
from polyqa.loading import index_of
from polyqa.models import Encoder

QUESTION = "When did Solaris come out?"
FILMS = (
    ("1972", "Solaris is a film by Tarkovsky that came out on 20 March 1972.", "Tarkovsky", "1972-03-20"),
    ("2002", "Solaris is a film by Soderbergh that came out on 29 November 2002.", "Soderbergh", "2002-11-29"),
    ("2014", "Solaris is a play by Trifonov that came out on 3 May 2014.", "Trifonov", "2014-05-03"),
)
RECENT = "date >= 2000-01-01 and author != 'Trifonov'"


@pytest.fixture(scope="module")
def dated(encoder: Encoder, tmp_path_factory: pytest.TempPathFactory) -> ColBERTIndex:
    passages = [
        Passage(pid=pid, title="Solaris", text=text, metadata={"author": author, "date": date})
        for pid, text, author, date in FILMS
    ]
    return build_index(passages, tmp_path_factory.mktemp("indexes") / "dated", encoder=encoder, progress=False)


@pytest.fixture(scope="module")
def web(dated: ColBERTIndex) -> Iterator[Web]:
    with web_server([dated]) as running:
        yield running


@pytest.fixture
def client(web: Web) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=web.base, timeout=120) as made:
        yield made


def test_a_compiled_program_searches_what_it_was_compiled_over(dated: ColBERTIndex, tmp_path: Path) -> None:
    shutil.copytree(compiled_home() / "rac-homonyms-local", tmp_path / "made")
    card = json.loads((tmp_path / "made" / CARD).read_text(encoding="utf-8"))
    card["index"] |= {"name": "homonyms", "condition": "pid <> '1'"}
    (tmp_path / "made" / CARD).write_text(json.dumps(card), encoding="utf-8")

    def searched(**given: Any) -> str | None:
        index = index_of(polyqa.load(tmp_path / "made", **given))
        assert index is not None
        return index.condition

    assert searched() == "pid <> '1'"
    assert searched(index="homonyms", where="pid <> '2'") == "pid <> '2'"
    assert searched(index=ColBERTIndex("homonyms").where("pid <> '2'")) == "pid <> '2'"
    with pytest.warns(UserWarning, match="was compiled over the index homonyms"):
        assert searched(index=dated) is None
    card["index"]["fingerprint"] = "0"  # as after polyqa index sync
    (tmp_path / "made" / CARD).write_text(json.dumps(card), encoding="utf-8")
    with pytest.warns(UserWarning, match="that index has changed since"):
        assert searched() == "pid <> '1'"


def test_python_answers_from_matching_passages_and_tells_runs_apart(dated: ColBERTIndex, tmp_path: Path) -> None:
    found = polyqa.ask(QUESTION, program="rac", index=dated.path, where=RECENT)
    assert [passage.pid for passage in found.passages] == ["2002"]
    assert "2002" in found.answer
    assert found.to_dict()["passages"][0]["metadata"] == {"author": "Soderbergh", "date": "2002-11-29"}
    assert len(polyqa.ask(QUESTION, program="rac", index=dated).passages) == 3
    lm = Models().answering()
    identities = {
        where: RunIdentity.of(program := polyqa.load("rac", index=dated, where=where), lm, index=index_of(program))
        for where in (None, RECENT, "author = 'Trifonov'")
    }
    assert len({identity.program_state for identity in identities.values()}) == 3
    assert identities[RECENT].index == f"dated ({dated.fingerprint}) where {RECENT}"
    assert identities[None].index == f"dated ({dated.fingerprint})"
    out = tmp_path / "answers.jsonl"
    answered = answer_many([QUESTION], out, program="rac", index=dated.path, where=RECENT)
    assert [[passage["pid"] for passage in line["passages"]] for line in answered] == [["2002"]]
    with pytest.raises(PolyqaError, match="was begun with something else"):
        answer_many([QUESTION], out, program="rac", index=dated.path)


@pytest.mark.parametrize(
    ("program", "where", "told"),
    [
        ("rac", "year > 2000", "there are pid, title, author, date"),
        ("rac", "author = 'Nobody'", "No passage of dated fulfils"),
        ("closed-book", "author = 'Trifonov'", "searches no index"),
    ],
)
def test_what_cannot_be_is_refused(dated: ColBERTIndex, program: str, where: str, told: str) -> None:
    with pytest.raises(PolyqaError, match=told):
        polyqa.load(program, index=dated, where=where)


def test_the_command_line_takes_a_condition(
    dated: ColBERTIndex, printed: Callable[..., str], refused: Callable[..., str], tmp_path: Path
) -> None:
    told = json.loads(printed("ask", QUESTION, "--index", dated.path, "--program", "rac", "--where", RECENT, "--json"))
    assert [passage["pid"] for passage in told["passages"]] == ["2002"]
    questions = tmp_path / "questions.txt"
    questions.write_text(QUESTION)
    out = tmp_path / "answers.jsonl"
    printed("answer", questions, "--out", out, "--index", dated.path, "--program", "rac", "--where", RECENT)
    assert [one["pid"] for one in json.loads(out.read_text())["passages"]] == ["2002"]
    found = printed("index", "search", dated.path, QUESTION, "--where", "author like 't%'")
    assert "author: Tarkovsky · date: 1972-03-20" in found
    assert "Soderbergh" not in found
    assert "author (text), date (text)" in printed("index", "info", dated.path)
    assert "metadata author, date" in printed("index", "info", dated.path, "--check")
    assert "there are pid, title, author, date" in refused("ask", QUESTION, "--index", dated.path, "--where", "x = 1")


def test_http_takes_a_condition(client: httpx.Client) -> None:
    for where, pids in ((RECENT, ["2002"]), ("date < '2000'", ["1972"]), (None, ["1972", "2002", "2014"])):
        asked = {"question": QUESTION, "program": "rac", **({"where": where} if where else {})}
        found = client.post("/ask", json=asked).json()
        assert sorted(passage["pid"] for passage in found["passages"]) == pids
        searched = client.get("/search", params={"query": QUESTION, **({"where": where} if where else {})}).json()
        assert sorted(passage["pid"] for passage in searched["passages"]) == pids
    assert searched["passages"][0]["metadata"].keys() == {"author", "date"}
    theirs = client.get("/api/search", params={"query": QUESTION, "where": RECENT}).json()
    assert [hit["metadata"]["author"] for hit in theirs["topk"]] == ["Soderbergh"]
    chat = {"model": "rac", "messages": [{"role": "user", "content": QUESTION}], "where": RECENT}
    (citation,) = client.post("/v1/chat/completions", json=chat).json()["citations"]
    assert citation["metadata"]["date"] == "2002-11-29"
    (index,) = client.get("/indexes").json()["indexes"]
    assert index["columns"] == {"author": "text", "date": "text"}


@pytest.mark.parametrize(
    ("where", "told"),
    [("year = 1", "there are pid, title, author, date"), ("(select 1)", "no subquery"), ("pid = 'x'", "No passage")],
)
def test_http_refuses_a_condition_that_cannot_be(client: httpx.Client, where: str, told: str) -> None:
    for response in (
        client.post("/ask", json={"question": QUESTION, "where": where}),
        client.get("/search", params={"query": QUESTION, "where": where}),
    ):
        assert response.status_code == 400
        assert told in response.json()["error"]["message"]


def test_what_a_client_filters_by_leaves_the_next_one_alone(web: Web) -> None:
    shelf = web.service.shelf
    few = shelf.program("diva", "dated", RECENT)
    whole = shelf.program("diva", "dated")
    assert few is not whole
    assert few.reranker.encoder is whole.reranker.encoder
    assert len(few.retriever.search(QUESTION, 5)) == 1
    assert len(whole.retriever.search(QUESTION, 5)) == 3
    assert shelf.index("dated", RECENT) is shelf.index("dated", RECENT)


def test_assistants_take_a_condition(dated: ColBERTIndex) -> None:
    pytest.importorskip("mcp")
    from polyqa.language_models import embedded_lm
    from polyqa.web.mcp import mcp_server
    from polyqa.web.shelf import Shelf

    server = mcp_server(Shelf(embedded_lm(), indexes=[dated.path], programs=["rac"]))
    for tool, asked in (("search", {"query": QUESTION}), ("ask", {"question": QUESTION})):
        told = asyncio.run(server.call_tool(tool, {**asked, "where": RECENT}))
        assert "Soderbergh" in str(told)
        assert "Tarkovsky" not in str(told)
