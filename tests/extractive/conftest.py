from collections.abc import Iterator

import dspy
import pytest

from polyqa.extractive import ExtractiveEngine, embedded_lm


@pytest.fixture(scope="session")
def engine() -> ExtractiveEngine:
    return ExtractiveEngine()


@pytest.fixture(scope="module", autouse=True)
def configured(engine: ExtractiveEngine) -> Iterator[None]:
    """Predictors ask the embedded engine."""
    with dspy.context(lm=embedded_lm(engine), track_usage=True):
        yield
