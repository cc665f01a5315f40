"""What other software asks: OpenAI's client, DSPy's ColBERTv2, assistants that speak MCP, whoever reads OpenAPI."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import dspy
import httpx
import openai
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.server.mcpserver.exceptions import ToolError
from web_server import Web

import polyqa
from polyqa.asking_back import Clarification
from polyqa.colbert_index import ColBERTIndex
from polyqa.web.compatible import _asked, _content
from polyqa.web.mcp import mcp_server
from polyqa.web.schemas import Message
from polyqa.web.shelf import Shelf

QUESTION = "When did Solaris come out?"
ASKED: Any = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]
UNKNOWN: Any = [{"role": "user", "content": "What is the airspeed velocity of Zorblax?"}]


@pytest.fixture
def chat(web: Web) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{web.base}/v1", api_key="none", max_retries=0)


@pytest.mark.parametrize("model", ["polyqa", "polyqa/films", "rac/films"])
def test_a_chat_client_gets_an_answer_with_its_sources(chat: openai.OpenAI, model: str) -> None:
    with chat:
        made = chat.chat.completions.create(model=model, messages=ASKED)
        text = made.choices[0].message.content or ""
        assert made.model == model
        assert made.choices[0].finish_reason == "stop"
        assert made.usage is not None
        assert made.usage.total_tokens == made.usage.prompt_tokens + made.usage.completion_tokens > 100
    answer, _, listed = text.partition("\n\nSources:\n")
    assert "[1]" in answer
    assert "- [1] Solaris" in listed
    assert "Solaris (2002 film) (films.pdf, p. 2)" in listed.replace("\\", "")
    assert "Solaris (1972 film) (solaris-1972)" in listed.replace("\\", "")
    extra: Any = made.model_extra
    assert {"solaris-1972", "solaris-2002"} <= {one["pid"] for one in extra["citations"]}


@pytest.mark.parametrize("asked", [ASKED, UNKNOWN])
def test_a_streamed_answer_is_the_same(asked: Any, chat: openai.OpenAI) -> None:
    with chat:
        # Clients send null for what is not set.
        whole = chat.chat.completions.create(model="rac", messages=asked, stream=None).choices[0].message.content
        parts = list(
            chat.chat.completions.create(
                model="rac", messages=asked, stream=True, stream_options={"include_usage": True}
            )
        )
    said = "".join(part.choices[0].delta.content or "" for part in parts if part.choices)
    assert said == whole
    assert [part.choices[0].finish_reason for part in parts if part.choices][-1] == "stop"
    assert parts[-1].usage is not None
    assert len(parts) == 4, "the role, the answer, its end, the usage"


def test_a_chat_client_is_told_which_word_was_read_otherwise(chat: openai.OpenAI) -> None:
    slip: Any = [{"role": "user", "content": "when did solarsi come out"}]
    with chat:
        right, typed = (
            chat.chat.completions.create(model="rac", messages=sent).choices[0].message.content or ""
            for sent in (ASKED, slip)
        )
    said = "\n\n“solarsi” stands nowhere in the corpus; read as “solaris”."
    assert typed.replace(said, "") == right != typed


def test_the_last_question_counts_and_parts_are_joined(chat: openai.OpenAI) -> None:
    parts: Any = [{"type": "text", "text": "When did"}, {"type": "text", "text": "Solaris come out?"}]
    told: Any = [
        *[{"role": "user", "content": "Who are you?"}, {"role": "assistant", "content": "polyqa " * 500}] * 50,
        {"role": "user", "content": parts},
    ]
    with chat:
        assert "1972" in (chat.chat.completions.create(model="rac", messages=told).choices[0].message.content or "")


@pytest.mark.parametrize(
    ("changed", "error", "says"),
    [
        ({"model": "gpt-4o"}, openai.NotFoundError, "There is no program 'gpt-4o'; there are rac, diva, toc"),
        ({"model": "rac/nowhere"}, openai.NotFoundError, "There is no index 'nowhere'"),
        ({"messages": [{"role": "system", "content": "hi"}]}, openai.BadRequestError, "no message of the user's"),
        ({"messages": []}, openai.UnprocessableEntityError, "messages"),
        ({"n": 3}, openai.BadRequestError, "n is 1"),
    ],
)
def test_a_chat_client_is_told_what_is_wrong(
    chat: openai.OpenAI, changed: dict[str, Any], error: type[Exception], says: str
) -> None:
    asked = {"model": "rac", "messages": ASKED, **changed}
    with chat:
        for stream in (False, True):
            with pytest.raises(error, match=says):
                chat.chat.completions.create(**asked, stream=stream)


def test_a_chat_client_lists_indexes_and_programs(chat: openai.OpenAI) -> None:
    with chat:
        listed = [model.id for model in chat.models.list()]
        assert listed == ["polyqa", "polyqa/films", "rac", "diva", "toc"]
        assert [chat.models.retrieve(name).id for name in [*listed, "rac/films"]] == [*listed, "rac/films"]
        assert httpx.get(f"{chat.base_url}models/").json() == httpx.get(f"{chat.base_url}models").json()
        with pytest.raises(openai.NotFoundError, match="There is no index 'nowhere'; there are films"):
            chat.models.retrieve("rac/nowhere")


def test_dspy_finds_its_lost_server_again(web: Web, films: ColBERTIndex) -> None:
    retriever = dspy.ColBERTv2(url=f"{web.base}/api/search")
    found = retriever(QUESTION, k=3)
    own = films.search(QUESTION, 3)
    assert [one["long_text"] for one in found] == [passage.render() for passage in own]
    assert [one["pid"] for one in found] == [passage.pid for passage in own]
    assert [one["rank"] for one in found] == [1, 2, 3]
    assert sum(one["prob"] for one in found) == pytest.approx(1)
    with dspy.context(rm=retriever):
        assert dspy.Retrieve(k=2)(QUESTION).passages == [passage.render() for passage in own[:2]]


def test_passages_are_found(client: httpx.Client, films: ColBERTIndex) -> None:
    found = client.get("/search", params={"query": QUESTION, "k": 2}).json()
    assert (found["index"], found["query"]) == ("films", QUESTION)
    assert [one["pid"] for one in found["passages"]] == [passage.pid for passage in films.search(QUESTION, 2)]
    assert client.get("/search", params={"query": " "}).json()["error"]["message"].startswith("The query is empty")
    for k in (0, 101):
        assert client.get("/api/search", params={"query": "a", "k": k}).status_code == 400


def test_an_assistant_is_told_what_is_wrong_with_a_query(web: Web) -> None:
    with pytest.raises(ToolError, match="The query is empty"):
        asyncio.run(mcp_server(web.service.shelf).call_tool("search", {"query": " "}))


def test_an_assistant_is_told_why_no_language_model_replied(films: ColBERTIndex) -> None:
    lm = polyqa.language_model("openai/m@http://127.0.0.1:9/v1", retries=0)
    server = mcp_server(Shelf(lm, indexes=[films.path], programs=["rac"]))
    with pytest.raises(ToolError, match=r"server cannot be reached \(http://127\.0\.0\.1:9/v1.*\)"):
        asyncio.run(server.call_tool("ask", {"question": QUESTION}))


def test_what_there_is_is_listed(client: httpx.Client) -> None:
    programs = client.get("/programs").json()
    assert programs["default"] == "rac"
    assert [one["name"] for one in programs["programs"]] == ["rac", "diva", "toc"]
    assert programs["programs"][1]["url"].startswith("https://arxiv.org/")
    assert len(programs["confidence"]) == 5
    assert client.get("/indexes").json() == {
        "default": "films",
        "indexes": [
            {"name": "films", "passages": 5, "columns": {"page": "number", "source": "text"}, "names": ["Solaris"]}
        ],
    }


def test_the_description_has_valid_examples_and_every_error(client: httpx.Client) -> None:
    told = client.get("/openapi.json").json()
    assert told["info"]["version"] == polyqa.__version__
    ask = told["paths"]["/ask"]["post"]
    assert set(ask["responses"]) >= {"200", "400", "404", "422", "429", "503", "504"}
    assert "text/event-stream" in ask["responses"]["200"]["content"]
    assert told["components"]["schemas"]["Ask"]["examples"][0]["question"]
    assert {"/search", "/api/search", "/v1/chat/completions", "/programs", "/indexes", "/health"} <= set(told["paths"])
    for example in told["components"]["schemas"]["Completion"]["examples"]:
        assert client.post("/v1/chat/completions", json={**example, "model": "rac"}).status_code == 200


def test_an_assistant_starts_the_command_and_uses_its_tools(films: ColBERTIndex, tmp_path: Path) -> None:
    words = ["-m", "polyqa", "serve", "--mcp", "--index", str(films.path), "--program", "rac"]
    started = StdioServerParameters(command=sys.executable, args=words, cwd=str(tmp_path), env={**os.environ})

    async def use(errors: Any) -> None:
        async with Client(stdio_client(started, errlog=errors)) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert set(tools) == {"ask", "search"}
            assert tools["ask"].input_schema["required"] == ["question"]
            asked: Any = await client.call_tool("ask", {"question": QUESTION, "program": "rac"})
            assert not asked.is_error
            answer = asked.structured_content
            assert "[1]" in answer["answer"]
            assert {one["pid"] for one in answer["readings"]} <= {one["pid"] for one in answer["passages"]}
            found: Any = await client.call_tool("search", {"query": QUESTION, "k": 2})
            assert len(found.structured_content["passages"]) == 2
            for tool, given, says in (
                ("ask", {"question": "", "program": "rac"}, "The question is empty"),
                ("search", {"query": "a", "index": "../x"}, "There is no index '../x'; there are films"),
            ):
                refused: Any = await client.call_tool(tool, given)
                assert refused.is_error
                assert says in refused.content[0].text

    with (tmp_path / "errors.txt").open("w", encoding="utf-8") as errors:
        asyncio.run(use(errors))
    assert "Traceback" not in (tmp_path / "errors.txt").read_text(encoding="utf-8")


def test_a_choice_with_signs_of_markdown_is_read_back_as_it_is() -> None:
    back = Clarification("Which Solaris", ("the film [not the play]", "the play"), (0, 1))
    told = _content({"pieces": [{"text": back.numbered}], "asked_back": True, "respelled": {}})
    turns = (("user", QUESTION), ("assistant", told), ("user", "1"))
    assert _asked([Message(role=role, content=text) for role, text in turns]) == (QUESTION, back.choices[0])


def test_a_chat_is_asked_back_and_the_next_turn_answers_one_reading(chat: openai.OpenAI) -> None:
    messages: Any = [{"role": "user", "content": QUESTION}]
    with chat:

        def said() -> str:
            made = chat.chat.completions.create(model="rac", messages=messages, extra_body={"ask_back": True})
            return made.choices[0].message.content or ""

        back = said()
        assert back.startswith("Which Solaris?\n\n1. the ")
        number = next(line[0] for line in back.split("\n") if "2002" in line)
        messages += [{"role": "assistant", "content": back}, {"role": "user", "content": number}]
        answer = said()
        assert "29 November 2002 [" in answer
        assert "1972" not in answer.partition("Sources:")[0]
        messages[-1] = {"role": "user", "content": "Who wrote the novel Solaris?"}
        assert said() != answer
