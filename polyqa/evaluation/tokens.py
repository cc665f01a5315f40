"""Counts tokens as a language model does: with tiktoken, or with the embedded models' word pieces."""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from polyqa.base.errors import PolyqaError
from polyqa.extractive import MODEL_NAME

DEFAULT = "o200k_base"
_FILES = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
_FOLDER = "TIKTOKEN_CACHE_DIR"


class Tokenizer(NamedTuple):
    """Counts the tokens of a text; its name stands beside the counts."""

    name: str
    count: Callable[[str], int]


@cache
def tokenizer(lm: str | None = None) -> Tokenizer:
    """Return the tokenizer of a language model.

    Parameters
    ----------
    lm
        Such as ``openai/gpt-4o-mini``. For a model that tiktoken does not know, and without one, tokens are those of
        ``o200k_base``; for the embedded engine they are the word pieces of its reader.

    Raises
    ------
    PolyqaError
        If the file of the encoding is neither on this machine nor can be downloaded.
    """
    if lm == MODEL_NAME:
        return Tokenizer("embedded", _word_pieces())
    import tiktoken

    try:
        name = tiktoken.encoding_name_for_model((lm or "").rpartition("/")[2])
    except KeyError:
        name = DEFAULT
    try:
        with _bundled_file(name):
            encoding = tiktoken.get_encoding(name)
    except (OSError, ValueError) as error:
        raise PolyqaError(
            f"tiktoken's file of {name} is not on this machine and could not be downloaded. Download it once where "
            f"there is a network and name its folder in {_FOLDER}."
        ) from error
    return Tokenizer(name, lambda text: len(encoding.encode(text, disallowed_special=())))


@contextmanager
def _bundled_file(encoding: str) -> Iterator[None]:
    """Have tiktoken find the file of an encoding that LiteLLM ships, unless the user named a folder."""
    key = hashlib.sha1(_FILES.format(encoding).encode(), usedforsecurity=False).hexdigest()
    litellm = find_spec("litellm")
    folders = litellm.submodule_search_locations or () if litellm is not None else ()
    places = [Path(folder) / "litellm_core_utils" / "tokenizers" for folder in folders]
    place = next((place for place in places if (place / key).is_file()), None)
    if place is None or _FOLDER in os.environ:
        yield
        return
    os.environ[_FOLDER] = str(place)
    try:
        yield
    finally:
        del os.environ[_FOLDER]


def _word_pieces() -> Callable[[str], int]:
    from tokenizers import Tokenizer as WordPieces

    from polyqa.models.compact import reader_path

    pieces = WordPieces.from_file(str(reader_path() / "tokenizer.json"))
    pieces.no_truncation()
    pieces.no_padding()
    return lambda text: len(pieces.encode(text, add_special_tokens=False).ids)
