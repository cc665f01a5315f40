import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import dspy
import pytest
from openai_server import Server, serve
from writing_engine import WritingEngine

import polyqa
from polyqa.evaluation.loading import load_questions
from polyqa.extractive import ExtractiveEngine
from polyqa.metrics.gold import Question
from polyqa.metrics.optimizing import AnswerMetric
from polyqa.models import Reader
from polyqa.optimizers import Compiled, Plan, Recipe, compile, recipe


@pytest.fixture(scope="session")
def train() -> list[Question]:
    return load_questions("homonyms/train")[:6]


@pytest.fixture(scope="session")
def dev() -> list[Question]:
    return load_questions("homonyms/dev")[:3]


@pytest.fixture(scope="session")
def metric(reader: Reader) -> AnswerMetric:
    return AnswerMetric(reader)


@pytest.fixture(scope="session")
def rac() -> dspy.Module:
    return polyqa.load("rac", preset="paper")  # two predictors


@pytest.fixture(scope="session")
def diva() -> dspy.Module:
    return polyqa.load("diva", preset="paper")


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with serve(WritingEngine(ExtractiveEngine())) as served:
        yield served


@pytest.fixture
def wire_lm(server: Server) -> dspy.LM:
    """A language model that can write, over HTTP; a new name each time, so that no cache knows it."""
    return polyqa.language_model(f"openai/{uuid.uuid4().hex}", api_base=server.base)


@pytest.fixture(scope="session")
def embedded() -> dspy.LM:
    return polyqa.language_model()


@pytest.fixture
def plan(train: list[Question], dev: list[Question], embedded: dspy.LM, metric: AnswerMetric) -> Callable[..., Plan]:
    """Return what makes a plan for a recipe, or the name of one; by default with the embedded engine."""

    def make(chosen: str | Recipe, **changes: Any) -> Plan:
        own = recipe(chosen) if isinstance(chosen, str) else chosen
        return replace(Plan(train, dev, own, metric, embedded, threads=2), **changes)

    return make


@pytest.fixture
def compiled(plan: Callable[..., Plan], tmp_path: Path) -> Callable[..., Compiled]:
    """Return what compiles a program by a recipe, in a folder of the test's."""

    def make(
        program: dspy.Module, chosen: str | Recipe, folder: str = "", *, most: int | None = None, **changes: Any
    ) -> Compiled:
        return compile(program, plan(chosen, **changes), tmp_path / folder, max_calls=most)

    return make
