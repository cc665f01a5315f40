import re
from collections.abc import Iterator, Mapping
from typing import Any

import dspy
import pytest
from dspy.lm15 import Message, Request, Response, Usage, response_to_events

from polyqa.colbert_index import BiEncoderReranker, ColBERTIndex, FusedRetriever
from polyqa.embedded_models import Encoder
from polyqa.engines.extractive import ExtractiveEngine, embedded_lm

Messages = list[tuple[str, str]]
_QUESTION = re.compile(r"^\[\[ ## question ## \]\]\n(.*)$", re.M)


class TableEngine:
    """A language model that looks the answer up by the question of the last message.

    It keeps the messages of every call in ``seen``, and writes ChatAdapter's format.
    """

    input_tokens, output_tokens = 7, 3

    def __init__(self, table: Mapping[str, Mapping[str, str]]) -> None:
        self.table = table
        self.seen: list[Messages] = []

    def complete(self, request: Request) -> Response:
        system = request.system
        head = system if isinstance(system, str) else "".join(part.text for part in system or ())
        messages = [("system", head), *((message.role, message.text or "") for message in request.messages)]
        self.seen.append(messages)
        fields = self.table[_QUESTION.findall(messages[-1][1])[-1]]
        parts = [f"[[ ## {name} ## ]]\n{text}" for name, text in fields.items()]
        return Response(
            id=None,
            model=request.model,
            message=Message.assistant("\n\n".join([*parts, "[[ ## completed ## ]]"])),
            finish_reason="stop",
            usage=Usage(input_tokens=self.input_tokens, output_tokens=self.output_tokens),
        )

    def stream(self, request: Request) -> Any:
        return response_to_events(self.complete(request))

    def close(self) -> None:
        pass


class AsyncTableEngine:
    def __init__(self, engine: TableEngine) -> None:
        self.engine = engine

    async def complete(self, request: Request) -> Response:
        return self.engine.complete(request)

    async def stream(self, request: Request) -> Any:
        for event in response_to_events(self.engine.complete(request)):
            yield event

    async def aclose(self) -> None:
        pass


class TableLM:
    """A `dspy.LM` over a table, with what it was asked."""

    def __init__(self, table: Mapping[str, Mapping[str, str]]) -> None:
        self.engine = TableEngine(table)
        self.lm = dspy.LM(
            "tests/table",
            engine=self.engine,
            async_engine=AsyncTableEngine(self.engine),
            cache=False,
            num_retries=0,
        )

    @property
    def seen(self) -> list[Messages]:
        return self.engine.seen


@pytest.fixture(scope="session")
def table_lm() -> type[TableLM]:
    return TableLM


@pytest.fixture(scope="session")
def encoder() -> Encoder:
    return Encoder()


@pytest.fixture(scope="session")
def parts(encoder: Encoder) -> tuple[FusedRetriever, BiEncoderReranker]:
    """Retriever and reranker over the shipped corpus."""
    index = ColBERTIndex("homonyms")
    return FusedRetriever([index, index.bm25]), BiEncoderReranker(encoder, index)


@pytest.fixture(scope="session")
def engine(encoder: Encoder) -> ExtractiveEngine:
    return ExtractiveEngine(encoder=encoder)


@pytest.fixture
def embedded(engine: ExtractiveEngine) -> Iterator[None]:
    """The embedded engine as the language model of the test."""
    with dspy.context(lm=embedded_lm(engine), adapter=dspy.ChatAdapter()):
        yield
