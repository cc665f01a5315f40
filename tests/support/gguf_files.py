"""Small files in llama.cpp's format (GGUF), with a header as a test wants it."""

import struct
from collections.abc import Sequence


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data)) + data


def entry(key: str, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def tensor(name: str, dimensions: Sequence[int], kind: int = 0, offset: int = 0) -> bytes:
    return text(name) + struct.pack(f"<I{len(dimensions)}QIQ", len(dimensions), *dimensions, kind, offset)


ARCHITECTURE = entry("general.architecture", 8, text("llama"))


def gguf(
    *,
    version: int = 3,
    values: Sequence[bytes] = (ARCHITECTURE,),
    tensors: Sequence[bytes] = (),
    counts: tuple[int, int] | None = None,
    data: int = 0,
) -> bytes:
    """Return a file; ``counts`` are the numbers of tensors and values that it claims to have."""
    claimed = counts if counts is not None else (len(tensors), len(values))
    header = b"GGUF" + struct.pack("<IQQ", version, *claimed) + b"".join([*values, *tensors])
    return header + bytes(-len(header) % 32) + bytes(data)
