"""What is asked, is called and awaited."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest


def called(asked: Any, *given: Any, **settings: Any) -> Any:
    return asked(*given, **settings)


def awaited(asked: Any, *given: Any, **settings: Any) -> Any:
    return asyncio.run(asked.acall(*given, **settings))


@pytest.fixture(params=[called, awaited])
def ask(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Asks a language model or a predictor."""
    return request.param
