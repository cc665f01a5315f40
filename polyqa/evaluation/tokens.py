"""Counts tokens as a language model does: with tiktoken, or with the embedded models' word pieces."""

import os
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from polyqa.base.errors import PolyqaError
from polyqa.extractive import MODEL_NAME

DEFAULT = "o200k_base"
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
    _find_bundled_files()
    try:
        encoding = tiktoken.get_encoding(name)
    except (OSError, ValueError) as error:
        raise PolyqaError(
            f"tiktoken's file of {name} is not on this machine and could not be downloaded. Download it once where "
            f"there is a network and name its folder in {_FOLDER}."
        ) from error
    return Tokenizer(name, lambda text: len(encoding.encode(text, disallowed_special=())))


def _find_bundled_files() -> None:
    """Have tiktoken find the files that LiteLLM ships, as LiteLLM itself does, unless the user named a folder."""
    litellm = find_spec("litellm")
    for folder in litellm.submodule_search_locations or () if litellm is not None else ():
        os.environ.setdefault(_FOLDER, str(Path(folder) / "litellm_core_utils" / "tokenizers"))


def _word_pieces() -> Callable[[str], int]:
    from tokenizers import Tokenizer as WordPieces

    from polyqa.models.compact import reader_path

    pieces = WordPieces.from_file(str(reader_path() / "tokenizer.json"))
    pieces.no_truncation()
    pieces.no_padding()
    return lambda text: len(pieces.encode(text, add_special_tokens=False).ids)
