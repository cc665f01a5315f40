"""A file that is damaged, or made to do harm, is told in one line; a changed one before anything of it is loaded."""

import errno
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from polyqa.base.values import Passage
from polyqa.colbert_index import ColBERTIndex, IndexFaultError, build_index, check_index, remove_passages
from polyqa.colbert_index.files import CHECKSUMS, checksums, write_checksums

Change = Callable[[bytes], bytes | None]
TENSORS = ["0.codes.pt", "0.residuals.pt", "centroids.pt", "buckets.pt", "avg_residual.pt", "ivf.pid.pt"]
JSON = ["metadata.json", "0.metadata.json", "doclens.0.json"]
BM25 = [f"bm25/{name}.index.{kind}" for name, kind in (("params", "json"), ("vocab", "json"))]
BM25 += [f"bm25/{name}.csc.index.npy" for name in ("data", "indices", "indptr")]


def gone(content: bytes) -> None:
    return None


def half(content: bytes) -> bytes:
    return content[: len(content) // 2]


def becomes(content: bytes) -> Change:
    return lambda _: content


def json_with(change: Callable[[Any], object]) -> Change:
    def changed(content: bytes) -> bytes:
        data = json.loads(content)
        change(data)
        return json.dumps(data).encode()

    return changed


def lines(change: Callable[[list[str]], list[str]]) -> Change:
    return lambda content: "".join(f"{line}\n" for line in change(content.decode().splitlines())).encode()


def array(change: Callable[[Any], Any]) -> Change:
    return lambda content: written(np.save, change(np.load(io.BytesIO(content))))


def tensor(change: Callable[[Any], Any]) -> Change:
    return lambda content: written(lambda file, own: torch.save(own, file), change(torch.load(io.BytesIO(content))))


def written(write: Callable[[Any, Any], object], value: object) -> bytes:
    stream = io.BytesIO()
    write(stream, value)
    return stream.getvalue()


FILES = ["passages.jsonl", *TENSORS, *JSON, *BM25]
ENDLESS = {"descr": "<f2", "fortran_order": False, "shape": (40, 10**12)}


def rows(file: str, message: str, **changes: Change) -> list[Any]:
    return [pytest.param(file, change, message, id=f"{file} {name}") for name, change in changes.items()]


FAULTS = [
    *rows("polyqa.json", "it has no polyqa.json", gone=gone),
    *(row for file in FILES for row in rows(file, f"is incomplete: {file} missing", gone=gone)),
    *rows(
        "polyqa.json",
        "polyqa.json is corrupt or of another version",
        garbage=becomes(b"garbage"),
        incomplete=becomes(b'{"format": 1}'),
        bytes=becomes(b"\xff\xfe\x00"),
        format=json_with(lambda data: data.update(format=2)),
        setting=json_with(lambda data: data["settings"].update(nested=1)),
    ),
    *rows("polyqa.json", "does not hold the 39 passages", passages=json_with(lambda data: data.update(passages=39))),
    *rows("polyqa.json", "vectors do not match its passages", tokens=json_with(lambda data: data.update(tokens=7))),
    *rows(
        "polyqa.json",
        "do not match its fingerprint",
        checkpoint=json_with(lambda data: data.update(checkpoint_hash="0" * 16)),
        settings=json_with(lambda data: data["settings"].update(seed=1)),
    ),
    *rows(
        "passages.jsonl",
        "does not hold the 40 passages",
        short=lines(lambda own: own[:-1]),
        null=lines(lambda own: [*own[:-1], "null"]),
    ),
    *rows(
        "passages.jsonl",
        "do not match its fingerprint",
        nulls=lines(lambda own: [*own, "null"]),
        swapped=lines(lambda own: [own[1], own[0], *own[2:]]),
        text=lines(lambda own: [own[0].replace("clover", "heather"), *own[1:]]),
        title=lines(lambda own: [own[0].replace("Honey", "Money"), *own[1:]]),
    ),
    *rows("passages.jsonl", "passages.jsonl:1 is corrupt", fields=lines(lambda own: ["{}", *own[1:]])),
    *rows("passages.jsonl", "passages.jsonl:2 is corrupt", garbage=lines(lambda own: [own[0], "garbage", *own[2:]])),
    *rows("passages.jsonl", "passages.jsonl:40 is corrupt", half=lines(lambda own: [*own[:-1], own[-1][:30]])),
    *(row for file in TENSORS for row in rows(file, "is corrupt", half=half, text=becomes(b"garbage" * 7))),
    *rows(
        "metadata.json",
        "metadata.json is corrupt",
        garbage=becomes(b"garbage"),
        object=becomes(b"{}"),
        list=becomes(b"[]"),
        chunks=json_with(lambda data: data.update(num_chunks="two")),
    ),
    *rows("metadata.json", "10000000 chunks", endless=json_with(lambda data: data.update(num_chunks=10**7))),
    *rows(
        "0.codes.pt",
        "do not match",
        nowhere=tensor(lambda own: own + 10**6),
        fewer=tensor(lambda own: own[:9].clone()),
        type=tensor(lambda own: own.long()),
    ),
    *rows("0.residuals.pt", "do not match", narrow=tensor(lambda own: own[:, :4].clone())),
    *rows("buckets.pt", "its codec does not fit", fewer=tensor(lambda own: (torch.ones(3), torch.ones(2)))),
    *rows(
        "centroids.pt",
        "its codec holds no numbers, or huge ones",
        nan=tensor(lambda own: own * float("nan")),
        huge=tensor(lambda own: own.float() * 1e38),
    ),
    *rows("buckets.pt", "its codec holds no", nan=tensor(lambda own: (own[0], own[1] * float("nan")))),
    *rows("ivf.pid.pt", "that it does not hold", nowhere=tensor(lambda own: (own[0] + 10**6, own[1]))),
    *rows(
        "ivf.pid.pt",
        "its inverted file does not match",
        endless=tensor(lambda own: (own[0], own[1] + 10**9)),
        negative=tensor(lambda own: (own[0], own[1] - 10**9)),
    ),
    *rows("bm25/indices.csc.index.npy", "bm25 does not match", nowhere=array(lambda own: own + 10**6)),
    *rows("bm25/indptr.csc.index.npy", "bm25 does not match", backwards=array(lambda own: own[::-1])),
    *rows("metadata.json", "is corrupt", sum=json_with(lambda data: data.update(num_embeddings=1))),
    *rows("checksums.json", "checksums.json is corrupt", gone=gone, list=becomes(b"[1]")),
    *rows("0.metadata.json", "corrupt", text=becomes(b"garbage")),
    *rows(
        "vectors.npy",
        "vectors.npy",
        gone=gone,
        empty=becomes(b""),
        garbage=becomes(b"garbage"),
        half=half,
        zeros=array(lambda own: own * 0),
        narrow=array(lambda own: own[:, :5]),
        flat=array(lambda own: own[:, 0]),
        reversed=array(lambda own: own[::-1]),
    ),
    *rows(
        "vectors.npy",
        "vectors.npy does not match its passages",
        fewer=array(lambda own: own[:-1]),
        more=array(lambda own: np.concatenate([own, own[:1]])),
    ),
    *rows(
        "vectors.npy", "vectors.npy is corrupt", endless=becomes(written(np.lib.format.write_array_header_1_0, ENDLESS))
    ),
    *(row for file in BM25 for row in rows(file, "bm25", text=becomes(b"garbage"))),
]


def fault(path: Path) -> str:
    with pytest.raises(IndexFaultError) as caught:
        check_index(path)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    return message


def test_a_good_index_passes_and_a_copy_of_it(index: ColBERTIndex, copy_index: Callable[[], Path]) -> None:
    checked = check_index(index.path)
    assert checked.manifest == index.manifest
    assert check_index(str(index.path)).search("kite", k=1) == index.search("kite", k=1)
    assert check_index(copy_index()).fingerprint == index.fingerprint


@pytest.mark.parametrize(("file", "change", "message"), FAULTS)
def test_a_fault_is_told_on_one_line(copy_folder: Callable[[], Path], file: str, change: Change, message: str) -> None:
    path = copy_folder()
    content = change((path / file).read_bytes())
    if content is None:
        (path / file).unlink()
    else:
        (path / file).write_bytes(content)
        if file != CHECKSUMS:
            write_checksums(path)  # as somebody would who hides it
    assert message in fault(path.parents[1])


@pytest.mark.parametrize("file", ["passages.jsonl", "vectors.npy", "doclens.0.json", *TENSORS, *BM25[1:3]])
def test_one_bit_is_enough(copy_folder: Callable[[], Path], file: str) -> None:
    def use() -> None:
        index = ColBERTIndex(path.parents[1])
        index.search("tea", 1)
        index.bm25.search("tea", 1)
        index.vectors(index.manifest.encoder or "")

    path = copy_folder()
    use()
    data = bytearray((path / file).read_bytes())
    data[len(data) // 2] ^= 1
    (path / file).write_bytes(data)
    with pytest.raises(IndexFaultError, match=f"{file} is damaged: it is not as it was written"):
        use()


def test_an_update_writes_the_hashes_again(copy_index: Callable[[], Path]) -> None:
    index = ColBERTIndex(copy_index())
    changed = remove_passages(index, [index.passages[0].pid])
    before, after = (json.loads((one.folder / CHECKSUMS).read_text()) for one in (index, changed))
    assert after == checksums(changed.folder)
    assert after.keys() == before.keys()
    assert after["passages.jsonl"] != before["passages.jsonl"]
    check_index(changed.path)


def test_no_folder_and_a_foreign_folder(tmp_path: Path) -> None:
    assert f"Build one with `polyqa index build CORPUS --name {tmp_path}/nowhere`" in fault(tmp_path / "nowhere")
    (tmp_path / "diary.txt").touch()
    assert "is not a polyqa index" in fault(tmp_path)


def test_shuffled_tokens_of_a_tiny_index(passages: list[Passage], tmp_path: Path) -> None:
    path = build_index(passages[::8], tmp_path / "x", progress=False).folder
    for name in ("codes", "residuals"):
        tensor = torch.load(path / f"0.{name}.pt", weights_only=True)
        torch.save(tensor.flip(0), path / f"0.{name}.pt")
    write_checksums(path)
    with pytest.raises(IndexFaultError, match="do not find themselves"):
        check_index(path.parents[1])


def test_passages_that_are_all_the_same_are_no_fault(tmp_path: Path) -> None:
    same = [{"id": number, "text": "The tide comes in at six."} for number in range(120)]
    path = build_index(same, tmp_path / "same", progress=False).path
    assert len(check_index(path)) == 120


@pytest.mark.parametrize("reader", ["open", "read_text"], ids=["current", "manifest"])
@pytest.mark.parametrize(
    "error",
    [
        PermissionError(errno.EACCES, "Permission denied"),
        OSError(errno.EMFILE, "Too many open files"),
        MemoryError("Unable to allocate 7 GiB"),
    ],
    ids=["permission", "files", "memory"],
)
def test_what_the_machine_lacks_is_no_damage(
    copy_index: Callable[[], Path], monkeypatch: pytest.MonkeyPatch, reader: str, error: Exception
) -> None:
    def fails(*given: object, **named: object) -> None:
        raise error

    path = copy_index()
    monkeypatch.setattr(Path, reader, fails)
    with pytest.raises(type(error), match=str(error.args[-1])):
        ColBERTIndex(path)


def test_too_little_memory_for_a_tensor_is_no_damage(
    copy_index: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*given: object, **named: object) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 7 bytes.")

    monkeypatch.setattr(torch, "load", fails)
    with pytest.raises(MemoryError, match=r"not enough memory to read .*\.pt"):
        ColBERTIndex(copy_index()).token_vectors  # noqa: B018
