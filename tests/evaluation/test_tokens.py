from collections.abc import Iterator
from pathlib import Path

import pytest
import tiktoken
from refusals import told

from polyqa.evaluation.tokens import tokenizer
from polyqa.models import Reader

TEXT = "Titanic came out in 1997 — «naïve» 🚢 <|endoftext|>"


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No file is downloaded: those that LiteLLM ships are found, whatever was loaded before."""

    def refuse(path: str) -> bytes:
        if "://" not in path:
            return Path(path).read_bytes()
        raise ConnectionError(f"no network for {path}")

    monkeypatch.setattr("tiktoken.load.read_file", refuse)
    monkeypatch.setattr("tiktoken.registry.ENCODINGS", {})
    for name in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    tokenizer.cache_clear()
    yield
    tokenizer.cache_clear()


@pytest.mark.parametrize(
    ("lm", "name"),
    [
        ("openai/gpt-4o-mini", "o200k_base"),
        ("openai/gpt-4", "cl100k_base"),
        ("azure/gpt-3.5-turbo", "cl100k_base"),
        ("groq/openai/gpt-oss-120b", "o200k_harmony"),
        ("anthropic/claude-sonnet-4-5", "o200k_base"),
        (None, "o200k_base"),
    ],
)
def test_a_model_has_its_own_tokenizer(lm: str | None, name: str) -> None:
    found = tokenizer(lm)
    assert found.name == name
    assert found.count(TEXT) == len(tiktoken.get_encoding(name).encode(TEXT, disallowed_special=()))


def test_the_embedded_engine_counts_word_pieces(reader: Reader) -> None:
    assert tokenizer("polyqa/extractive").name == "embedded"
    assert tokenizer("polyqa/extractive").count(TEXT) == reader.count_tokens(TEXT)


def test_a_file_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    assert "name its folder in TIKTOKEN_CACHE_DIR" in told(tokenizer, None)
