"""The seconds of a result begin when everything is loaded, and nothing is loaded that a question does not need."""

import asyncio
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from openai_server import serve
from scripted_engine import ScriptedEngine

import polyqa
from polyqa import colbert_index
from polyqa.colbert_index import ColBERTIndex
from polyqa.colbert_index import index as index_module
from polyqa.extractive import ExtractiveEngine
from polyqa.language_models import embedded_engine
from polyqa.loading import warm_up
from polyqa.questions import QuestionDatabase

QUESTION = "When did Titanic come out?"
SLOW = 1.0


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Collect the folders of the indexes whose vectors are loaded, which takes a second."""
    loaded: list[Path] = []
    load = index_module.CompressedVectors

    def slowly(parts: list[Path]) -> Any:
        time.sleep(SLOW)
        loaded.extend(parts)
        return load(parts)

    monkeypatch.setattr(index_module, "CompressedVectors", slowly)
    return loaded


def awaited(*words: Any, **more: Any) -> polyqa.Result:
    return asyncio.run(polyqa.aask(*words, **more))


@pytest.mark.parametrize("ask", [polyqa.ask, awaited])
@pytest.mark.parametrize("made", [True, False], ids=["program", "name"])
def test_loading_is_not_counted(ask: Callable[..., polyqa.Result], made: bool, opened: list[Path]) -> None:
    started = time.perf_counter()
    result = ask(QUESTION, program=polyqa.load("rac") if made else "rac")
    taken = time.perf_counter() - started
    assert len(opened) == 1
    assert taken - result.seconds > SLOW
    assert result.answer


def test_what_is_loaded_is_not_loaded_again(opened: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    program = polyqa.load("rac")
    polyqa.ask(QUESTION, program=program)
    monkeypatch.setattr(ColBERTIndex, "search_many", lambda *_: pytest.fail("searched"))
    warm_up(program, polyqa.language_model())
    assert len(opened) == 1


def test_a_question_that_searches_nothing_loads_no_index_and_no_engine(opened: list[Path]) -> None:
    embedded_engine.cache_clear()
    with serve(ScriptedEngine(lambda prompt: {"answer": "In 1997."})) as server:
        lm = polyqa.language_model(f"openai/{uuid.uuid4().hex}", api_base=server.base)
        polyqa.ask(QUESTION, program="closed-book", lm=lm)
    assert opened == []
    assert embedded_engine.cache_info().currsize == 0
    assert len(server.requests) == 1


def test_loading_calls_no_language_model() -> None:
    with serve(ExtractiveEngine()) as server:
        lm = polyqa.language_model(f"openai/{uuid.uuid4().hex}", api_base=server.base)
        program = polyqa.load("rac")
        warm_up(program, lm)
        assert server.requests == []
        result = polyqa.ask(QUESTION, program=program, lm=lm)
        assert len(server.requests) == len(result.calls)


def test_a_program_that_searches_questions_loads_them_and_the_index(
    opened: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    warmed: list[QuestionDatabase] = []
    monkeypatch.setattr(QuestionDatabase, "warm_up", lambda database: warmed.append(database))
    index = ColBERTIndex("homonyms")
    database = object.__new__(QuestionDatabase)
    asked = polyqa.questions.QuestionRetriever(database, index)
    parts = (colbert_index.FusedRetriever([index]), colbert_index.BiEncoderReranker(polyqa.models.Encoder()))
    warm_up(polyqa.programs.SIXPAQ(*parts, asked), polyqa.language_model())
    assert (warmed, opened) == ([database], [index.folder])
