"""The smallest language model, run by llama.cpp: `make test-all` pulls it, and tests of it are skipped without it."""

from pathlib import Path
from typing import Any

import pytest

from polyqa.base.errors import PolyqaError
from polyqa.language_models import language_model
from polyqa.lm.local import LocalLM
from polyqa.models.gguf import model_file

NAME = "local/smollm2-135m"


def local_model_file() -> Path:
    """Return the model's file; skip the test where it or llama.cpp is missing."""
    pytest.importorskip("xllamacpp", reason="pip install 'polyqa[local]'")
    try:
        return model_file("smollm2-135m")
    except PolyqaError as error:
        pytest.skip(str(error))


def local_lm(**settings: Any) -> LocalLM:
    """Return the model on one thread with one slot and short replies, unless settings say otherwise."""
    local_model_file()
    given = {"threads": 1, "slots": 1, "context": 1024, "prompt_cache": 0, "max_tokens": 30, "cache": False}
    lm = language_model(NAME, **{**given, **settings})
    assert isinstance(lm, LocalLM)
    return lm
