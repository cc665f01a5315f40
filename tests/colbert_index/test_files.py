"""A file that is not as it was written is told before anything of it is loaded; so is one that does not fit."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from polyqa.colbert_index import ColBERTIndex, IndexFaultError, remove_passages
from polyqa.colbert_index.files import CHECKSUMS, VECTORS, checksums, write_checksums

Copy = Callable[[], Path]


def use(folder: Path) -> None:
    index = ColBERTIndex(folder.parents[1])
    index.search("tea", 1)
    index.bm25.search("tea", 1)
    index.vectors(index.manifest.encoder or "")


FILES = [
    "0.codes.pt",
    "0.residuals.pt",
    "centroids.pt",
    "buckets.pt",
    "ivf.pid.pt",
    "doclens.0.json",
    "passages.jsonl",
    VECTORS,
    "bm25/data.csc.index.npy",
    "bm25/vocab.index.json",
]


@pytest.mark.parametrize("name", FILES)
def test_one_bit_is_enough(name: str, copy_folder: Copy) -> None:
    path = copy_folder()
    use(path)
    data = bytearray((path / name).read_bytes())
    data[len(data) // 2] ^= 1
    (path / name).write_bytes(data)
    with pytest.raises(IndexFaultError, match=f"{name} is damaged: it is not as it was written"):
        use(path)


def test_an_update_writes_the_hashes_again(copy_index: Copy) -> None:
    path = copy_index()
    index = ColBERTIndex(path)
    before = json.loads((index.folder / CHECKSUMS).read_text())
    changed = remove_passages(index, [index.passages[0].pid])
    after = json.loads((changed.folder / CHECKSUMS).read_text())
    assert after == checksums(changed.folder)
    assert after.keys() == before.keys()
    assert after["passages.jsonl"] != before["passages.jsonl"]
    use(changed.folder)


def tensor(name: str, change: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Path], None]:
    return lambda path: torch.save(change(torch.load(path / name)), path / name)


def array(name: str, change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Path], None]:
    return lambda path: np.save(path / name, change(np.load(path / name)))


def value(name: str, key: str, new: object) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        data = json.loads((path / name).read_text())
        (path / name).write_text(json.dumps({**data, key: new}))

    return change


def cells(change: Callable[[torch.Tensor, torch.Tensor], object]) -> Callable[[Path], None]:
    return lambda path: torch.save(change(*torch.load(path / "ivf.pid.pt")), path / "ivf.pid.pt")


HARM = {
    "codes that point nowhere": (tensor("0.codes.pt", lambda codes: codes + 10**6), "do not match"),
    "too few codes": (tensor("0.codes.pt", lambda codes: codes[:9].clone()), "do not match"),
    "codes of another type": (tensor("0.codes.pt", lambda codes: codes.long()), "do not match"),
    "narrow residuals": (tensor("0.residuals.pt", lambda rows: rows[:, :4].clone()), "do not match"),
    "fewer weights": (lambda path: torch.save((torch.ones(3), torch.ones(2)), path / "buckets.pt"), "codec"),
    "ten million chunks": (value("metadata.json", "num_chunks", 10**7), "10000000 chunks"),
    "chunks below none": (value("metadata.json", "num_chunks", -1), "-1 chunks"),
    "passages that are not there": (cells(lambda pids, sizes: (pids + 10**6, sizes)), "that it does not hold"),
    "cells of endless size": (cells(lambda pids, sizes: (pids, sizes + 10**9)), "inverted file"),
    "cells below none": (cells(lambda pids, sizes: (pids, sizes - 10**9)), "inverted file"),
    "terms that point nowhere": (array("bm25/indices.csc.index.npy", lambda rows: rows + 10**6), "does not match"),
    "terms that end before they begin": (
        array("bm25/indptr.csc.index.npy", lambda starts: starts[::-1].copy()),
        "does not match",
    ),
}


@pytest.mark.parametrize("name", HARM)
def test_an_index_that_is_made_to_do_harm_is_refused(name: str, copy_folder: Copy) -> None:
    change, told = HARM[name]
    path = copy_folder()
    change(path)
    write_checksums(path)
    with pytest.raises(IndexFaultError, match=told):
        use(path)


def test_a_shape_larger_than_its_file_is_refused(copy_folder: Copy) -> None:
    path = copy_folder()
    with (path / VECTORS).open("wb") as file:
        header = {"descr": "<f2", "fortran_order": False, "shape": (40, 10**12)}
        np.lib.format.write_array_header_1_0(file, header)
    write_checksums(path)
    with pytest.raises(IndexFaultError, match="corrupt"):
        use(path)
