"""Tokenizers by name: tiktoken's, and the embedded models' own; none needs the network where its file is there."""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import NamedTuple

from polyqa.base.errors import PolyqaError

from .prices import litellm_folders

EMBEDDED = "embedded"
DEFAULT = "o200k_base"
_FILES = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
_SAME_FILE = {"o200k_harmony": "o200k_base", "p50k_edit": "p50k_base"}
_CACHES = ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR")


class Tokens(NamedTuple):
    """The tokens of a text: their numbers, and where in the text each begins."""

    ids: Sequence[int]
    starts: Sequence[int]


class Tokenizer(NamedTuple):
    """Cuts texts into tokens; the name is what figures made with it carry."""

    name: str
    encode: Callable[[str], Tokens]


def tokenizer(name: str) -> Tokenizer:
    """Return a tokenizer.

    Parameters
    ----------
    name
        An encoding of tiktoken such as ``o200k_base``; a model that tiktoken knows, with or without its provider
        (``openai/gpt-4o-mini``); or ``embedded``, the word pieces of the embedded models.

    Raises
    ------
    PolyqaError
        If there is no such encoding and no such model, or its file is not there and cannot be downloaded.
    """
    if name == EMBEDDED:
        return Tokenizer(EMBEDDED, lru_cache(maxsize=512)(_word_pieces()))
    tiktoken = _tiktoken()
    encoding = name if name in tiktoken.list_encoding_names() else _encoding_of(name)
    if encoding is None:
        known = ", ".join(sorted(tiktoken.list_encoding_names()))
        raise PolyqaError(
            f"tiktoken knows neither an encoding nor a model {name!r:.80}; the encodings are {known}. Name one with "
            f"--tokenizer ({DEFAULT} is near to most models'), or {EMBEDDED}."
        )
    return Tokenizer(encoding, lru_cache(maxsize=512)(_byte_pairs(encoding)))


def tokenizer_of(lm: str | None) -> str:
    """Return the name of a language model's tokenizer; ``o200k_base`` where tiktoken does not know the model."""
    return (_encoding_of(lm) if lm else None) or DEFAULT


def _encoding_of(model: str) -> str | None:
    tiktoken = _tiktoken()
    try:
        return str(tiktoken.encoding_name_for_model(model.rpartition("/")[2]))
    except KeyError:
        return None


def _tiktoken():  # type: ignore[no-untyped-def]  # a module
    try:
        import tiktoken
        import tiktoken.model
    except ImportError as error:
        raise PolyqaError(f"tiktoken is not installed: pip install tiktoken, or --tokenizer {EMBEDDED}.") from error
    return tiktoken


def _byte_pairs(encoding: str) -> Callable[[str], Tokens]:
    tiktoken = _tiktoken()
    try:
        with _bundled_file(encoding):
            made = tiktoken.get_encoding(encoding)
    except (OSError, ImportError, ValueError) as error:
        raise PolyqaError(
            f"tiktoken's file of {encoding} is not on this machine and could not be downloaded. Download it once where "
            f"there is a network and name its folder in TIKTOKEN_CACHE_DIR, or count with --tokenizer {EMBEDDED}."
        ) from error

    def encode(text: str) -> Tokens:
        ids = made.encode(text, disallowed_special=())
        return Tokens(ids, made.decode_with_offsets(ids)[1])

    return encode


@contextmanager
def _bundled_file(encoding: str) -> Iterator[None]:
    """Have tiktoken find the file of an encoding that LiteLLM ships, unless the user named a folder."""
    key = hashlib.sha1(_FILES.format(_SAME_FILE.get(encoding, encoding)).encode(), usedforsecurity=False).hexdigest()
    places = [folder / "litellm_core_utils" / "tokenizers" for folder in litellm_folders()]
    place = next((place for place in places if (place / key).is_file()), None)
    if place is None or any(name in os.environ for name in _CACHES):
        yield
        return
    os.environ[_CACHES[0]] = str(place)
    try:
        yield
    finally:
        del os.environ[_CACHES[0]]


def _word_pieces() -> Callable[[str], Tokens]:
    from tokenizers import Tokenizer as WordPieces

    from polyqa.models.compact import reader_path

    made = WordPieces.from_file(str(reader_path() / "tokenizer.json"))
    made.no_truncation()
    made.no_padding()

    def encode(text: str) -> Tokens:
        found = made.encode(text, add_special_tokens=False)
        return Tokens(found.ids, [start for start, _ in found.offsets])

    return encode
