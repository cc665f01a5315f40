import struct
from contextlib import suppress
from pathlib import Path

import pytest
from gguf_files import ARCHITECTURE, entry, gguf, tensor, text
from hypothesis import given
from hypothesis import strategies as st

from polyqa.base.errors import PolyqaError
from polyqa.models.gguf_header import check_header

SOUND = gguf(
    values=[
        ARCHITECTURE,
        entry("general.alignment", 4, struct.pack("<I", 32)),
        entry("tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, 2) + text("a") + text(b"\xff")),
        entry("tokenizer.ggml.scores", 9, struct.pack("<IQ2f", 6, 2, 1, 2)),
    ],
    tensors=[tensor("a", (8, 4)), tensor("b", (256,), kind=12, offset=128), tensor("c", (9,), kind=99, offset=288)],
    data=300,
)


def check(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(content)
    check_header(path)


def test_a_sound_header(tmp_path: Path) -> None:
    check(tmp_path, SOUND)


@pytest.mark.parametrize("size", range(4, len(SOUND) - 12, 7))
def test_a_file_that_is_cut_off(size: int, tmp_path: Path) -> None:
    with pytest.raises(PolyqaError, match="the file is damaged, it ends"):
        check(tmp_path, SOUND[:size])


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (gguf(version=1), "version 1 of the format"),
        (gguf(counts=(1 << 63, 1)), "claims to hold 9,223,372,036,854,775,808 tensors"),
        (gguf(counts=(0, 1 << 40)), "claims to hold 1,099,511,627,776 values"),
        (gguf(values=[]), "names no architecture"),
        (gguf(values=[entry("general.architecture", 4, bytes(4))]), "names no architecture"),
        (gguf(values=[struct.pack("<Q", (1 << 64) - 1)]), "bytes of a text"),
        (gguf(values=[entry("x", 9, struct.pack("<IQ", 0, 1 << 60))]), "items of 'x'"),
        (gguf(values=[entry("x", 9, struct.pack("<IQ", 12, 1 << 20))]), "ends within its header"),
        (gguf(values=[entry("x", 9, struct.pack("<IQ", 9, 1))]), "items of no known type"),
        (gguf(values=[entry("x", 77, b"")]), "a value of no known type"),
        (gguf(values=[ARCHITECTURE, entry("general.alignment", 4, struct.pack("<I", 3))]), "no power of two"),
        (gguf(tensors=[tensor("x" * 65, (1,))]), "65 bytes of a text"),
        (gguf(tensors=[tensor("x", (1,) * 5)]), "5 dimensions"),
        (gguf(tensors=[tensor("x", (1,), offset=7)], data=64), "does not begin where one may"),
        (gguf(tensors=[tensor("x", (1,), offset=1 << 62)], data=64), "ends before the tensor 'x'"),
        (gguf(tensors=[tensor("x", (1 << 62, 1 << 62))], data=64), "ends before the tensor 'x'"),
    ],
)
def test_a_header_that_lies(content: bytes, told: str, tmp_path: Path) -> None:
    with pytest.raises(PolyqaError, match=told):
        check(tmp_path, content)


@given(place=st.integers(4, len(SOUND) - 1), byte=st.integers(0, 255))
def test_any_other_byte_is_told_or_harms_nobody(
    place: int, byte: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    content = bytearray(SOUND)
    content[place] = byte
    folder = tmp_path_factory.getbasetemp()
    with suppress(PolyqaError):
        check(folder, bytes(content))
