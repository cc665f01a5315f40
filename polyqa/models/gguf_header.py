"""Checks the header of a language model's file (GGUF) before llama.cpp reads it.

llama.cpp is C++, and a file may come from a stranger. What its header counts is checked here against what the file has,
so that nothing is allocated or read beyond it.

Source: the specification of GGUF, https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.
"""

import os
import struct
from collections.abc import Mapping
from io import BufferedReader
from math import prod
from pathlib import Path
from typing import Any

from polyqa.base.errors import PolyqaError

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_MOST = 1 << 16  # metadata values, and tensors; large models have some thousand
_MOST_ITEMS = 1 << 22  # of an array, such as a vocabulary
_LONGEST = 1 << 24  # bytes of a text, such as a chat template
_LONGEST_NAME = 64  # bytes of a tensor's name
_MOST_DIMENSIONS = 4
_LARGEST_ALIGNMENT = 1 << 16
_STRING, _ARRAY = 8, 9
_FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_BLOCKS: Mapping[int, tuple[int, int]] = {
    **{0: (1, 4), 1: (1, 2), 24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8), 28: (1, 8), 30: (1, 2)},
    **{2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34)},
    **{10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 15: (256, 292)},
}
"""Of the common types of tensors: how many numbers a block holds, and its bytes."""


def check_header(path: Path) -> None:
    """Check that a file is a GGUF whose header fits its size.

    Raises
    ------
    PolyqaError
        If it cannot be read, is no GGUF, or is damaged; says what does not fit.
    """
    try:
        with path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise PolyqaError(f"{path} is no language model of llama.cpp (GGUF): it does not begin like one.")
            _Header(file).check()
    except OSError as error:
        raise PolyqaError(f"The language model {path} cannot be read: {error.strerror or error}.") from error
    except ValueError as error:
        raise PolyqaError(
            f"{path} cannot be loaded: the file is damaged, {error}. Get it again from where it came."
        ) from error


class _Header:
    """Reads a header behind its first four bytes; whatever does not fit is a `ValueError`."""

    def __init__(self, file: BufferedReader) -> None:
        self._file = file
        self._size = os.fstat(file.fileno()).st_size

    def check(self) -> None:
        version = self._number("I")
        if version not in _VERSIONS:
            raise ValueError(f"or of version {version} of the format, which is not known")
        tensors, values = self._counted("Q", _MOST, "tensors"), self._counted("Q", _MOST, "values")
        metadata = dict(self._value_with_key() for _ in range(values))
        if not isinstance(metadata.get("general.architecture"), str):
            raise ValueError("it names no architecture")
        alignment = metadata.get("general.alignment", 32)
        if not isinstance(alignment, int) or not 0 < alignment <= _LARGEST_ALIGNMENT or alignment & (alignment - 1):
            raise ValueError("its alignment is no power of two")
        described = [self._tensor(alignment) for _ in range(tensors)]
        begin = -(-self._file.tell() // alignment) * alignment
        for name, offset, size in described:
            if begin + offset + size > self._size:
                raise ValueError(f"it ends before the tensor {name!r:.80} does")

    def _value_with_key(self) -> tuple[str, Any]:
        key, kind = self._text(_LONGEST), self._number("I")
        if kind in _FORMATS:
            return key, self._number(_FORMATS[kind])
        if kind == _STRING:
            return key, self._text(_LONGEST)
        if kind != _ARRAY:
            raise ValueError(f"{key!r:.80} has a value of no known type")
        kind, length = self._number("I"), self._counted("Q", _MOST_ITEMS, f"items of {key!r:.80}")
        if kind in _FORMATS:
            self._read(length * struct.calcsize(f"<{_FORMATS[kind]}"))
        elif kind == _STRING:
            for _ in range(length):
                self._read(self._counted("Q", _LONGEST, "bytes of a text"))
        else:
            raise ValueError(f"{key!r:.80} has items of no known type")
        return key, None

    def _tensor(self, alignment: int) -> tuple[str, int, int]:
        """Return name, offset and bytes of a tensor."""
        name = self._text(_LONGEST_NAME)
        dimensions = [self._number("Q") for _ in range(self._counted("I", _MOST_DIMENSIONS, "dimensions"))]
        kind, offset = self._number("I"), self._number("Q")
        if offset % alignment:
            raise ValueError(f"the tensor {name!r:.80} does not begin where one may")
        numbers, size = _BLOCKS.get(kind, (1, 0))
        return name, offset, prod(dimensions) // numbers * size

    def _number(self, form: str) -> Any:
        data = self._read(struct.calcsize(f"<{form}"))
        return struct.unpack(f"<{form}", data)[0]

    def _counted(self, form: str, most: int, what: str) -> int:
        number: int = self._number(form)
        if number > most:
            raise ValueError(f"it claims to hold {number:,} {what}")
        return number

    def _text(self, longest: int) -> str:
        return self._read(self._counted("Q", longest, "bytes of a text")).decode()

    def _read(self, size: int) -> bytes:
        data = self._file.read(size)
        if len(data) < size:
            raise ValueError("it ends within its header")
        return data
