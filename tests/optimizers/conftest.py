import uuid
from collections.abc import Iterator

import dspy
import pytest
from openai_server import Server, serve
from writing_engine import WritingEngine

import polyqa
from polyqa.embedded_models import Reader
from polyqa.engines.extractive import ExtractiveEngine
from polyqa.evaluation.loading import load_questions
from polyqa.metrics.gold import Question
from polyqa.metrics.optimizing import AnswerMetric


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
    return polyqa.load("rac")


@pytest.fixture(scope="session")
def diva() -> dspy.Module:
    return polyqa.load("diva")


@pytest.fixture(scope="session")
def verdict() -> dspy.Module:
    return polyqa.load("verdict")


@pytest.fixture(scope="session")
def auto() -> dspy.Module:
    return polyqa.load("auto")


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
