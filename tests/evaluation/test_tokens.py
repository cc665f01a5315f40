import builtins
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from refusals import told

from polyqa.evaluation.tokens import Tokenizer, tokenizer, tokenizer_of
from polyqa.models import Reader

NAMES = ("o200k_base", "cl100k_base", "embedded")


@pytest.fixture(scope="module", autouse=True)
def _offline() -> Any:
    """No file is downloaded: those that LiteLLM ships are found, whatever was loaded before."""

    def refuse(path: str) -> bytes:
        if "://" not in path:
            return Path(path).read_bytes()
        raise ConnectionError(f"no network for {path}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tiktoken.load.read_file", refuse)
        patch.setattr("tiktoken.registry.ENCODINGS", {})
        for name in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture(scope="module")
def tokenizers() -> list[Tokenizer]:
    return [tokenizer(name) for name in NAMES]


@given(text=st.text())
def test_every_token_begins_somewhere_in_the_text(text: str, tokenizers: list[Tokenizer]) -> None:
    for one in tokenizers:
        tokens = one.encode(text)
        assert len(tokens.ids) == len(tokens.starts)
        assert list(tokens.starts) == sorted(tokens.starts)
        assert all(0 <= start < len(text) for start in tokens.starts)


def test_counts_are_those_of_tiktoken_and_of_the_engine(reader: Reader, tokenizers: list[Tokenizer]) -> None:
    text = "Titanic came out in 1997 — «naïve» 🚢 <|endoftext|>"
    by_name = {one.name: len(one.encode(text).ids) for one in tokenizers}
    assert by_name["o200k_base"] == len(tiktoken.get_encoding("o200k_base").encode(text, disallowed_special=()))
    assert by_name["embedded"] == reader.count_tokens(text)
    assert by_name.keys() == set(NAMES)


@pytest.mark.parametrize(
    ("lm", "name"),
    [
        ("openai/gpt-4o-mini", "o200k_base"),
        ("openai/gpt-4", "cl100k_base"),
        ("azure/gpt-3.5-turbo", "cl100k_base"),
        ("anthropic/claude-sonnet-4-5", "o200k_base"),
        (None, "o200k_base"),
    ],
)
def test_a_model_has_its_own_tokenizer(lm: str | None, name: str) -> None:
    assert tokenizer_of(lm) == name
    if lm is not None and "claude" not in lm:
        assert tokenizer(lm).name == name


def _no_tiktoken(patch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    real = builtins.__import__

    def refuse(name: str, *more: Any) -> Any:
        if name.startswith("tiktoken"):
            raise ImportError(name)
        return real(name, *more)

    patch.setattr(builtins, "__import__", refuse)


def _empty_folder(patch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    patch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    patch.setattr("tiktoken.registry.ENCODINGS", {})


@pytest.mark.parametrize(
    ("name", "prepare", "message"),
    [
        ("gpt-0", None, "neither an encoding nor a model 'gpt-0'; the encodings are cl100k_base"),
        ("r50k_base", None, "name its folder in TIKTOKEN_CACHE_DIR, or count with --tokenizer embedded"),
        ("o200k_base", _empty_folder, "name its folder in TIKTOKEN_CACHE_DIR"),
        ("o200k_base", _no_tiktoken, "pip install tiktoken, or --tokenizer embedded"),
    ],
)
def test_what_is_not_there_is_said(
    name: str,
    prepare: Callable[[pytest.MonkeyPatch, Path], None] | None,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    if prepare is not None:
        prepare(monkeypatch, tmp_path)
    assert message in told(tokenizer, name)
