import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polyqa.colbert_index import ColBERTIndex, IndexFaultError, check_index

FILES = [
    "polyqa.json",
    "passages.jsonl",
    "metadata.json",
    "plan.json",
    "centroids.pt",
    "buckets.pt",
    "avg_residual.pt",
    "ivf.pid.pt",
    "0.codes.pt",
    "0.residuals.pt",
    "0.metadata.json",
    "doclens.0.json",
    "bm25/params.index.json",
    "vectors.npy",
]


def fault(path: Path) -> str:
    with pytest.raises(IndexFaultError) as caught:
        check_index(path)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    return message


def edit_json(file: Path, change: Callable[[Any], object]) -> None:
    content = json.loads(file.read_text(encoding="utf-8"))
    change(content)
    file.write_text(json.dumps(content), encoding="utf-8")


def edit_lines(file: Path, change: Callable[[list[str]], list[str]]) -> None:
    lines = file.read_text(encoding="utf-8").splitlines()
    file.write_text("".join(f"{line}\n" for line in change(lines)), encoding="utf-8")


def test_a_good_index_passes(index: ColBERTIndex) -> None:
    checked = check_index(index.path)
    assert checked.manifest == index.manifest
    assert check_index(str(index.path)).search("kite", k=1) == index.search("kite", k=1)


def test_a_copied_index_passes(copy_index: Callable[[], Path], index: ColBERTIndex) -> None:
    assert check_index(copy_index()).fingerprint == index.fingerprint


@pytest.mark.parametrize("file", FILES)
def test_a_missing_file(copy_index: Callable[[], Path], file: str) -> None:
    path = copy_index()
    (path / file).unlink()
    assert Path(file).name in fault(path)


@pytest.mark.parametrize("file", ["metadata.json", "passages.jsonl", "centroids.pt", "0.codes.pt"])
def test_a_missing_file_is_noticed_on_opening(copy_index: Callable[[], Path], file: str) -> None:
    path = copy_index()
    (path / file).unlink()
    with pytest.raises(IndexFaultError, match=f"is incomplete: {file} missing"):
        ColBERTIndex(path)


def test_several_missing_files_are_all_named(copy_index: Callable[[], Path]) -> None:
    path = copy_index()
    (path / "plan.json").unlink()
    (path / "doclens.0.json").unlink()
    assert "plan.json, doclens.0.json missing" in fault(path)


def test_no_folder_and_a_foreign_folder(tmp_path: Path) -> None:
    assert "There is no index at" in fault(tmp_path / "nowhere")
    (tmp_path / "diary.txt").touch()
    assert "is not a polyqa index" in fault(tmp_path)


@pytest.mark.parametrize(
    "content",
    [b"", b"garbage", b"[]", b'{"format": 1}', b"\xff\xfe\x00", b'{"format": 1, "passages": "many"}'],
)
def test_a_broken_manifest(copy_index: Callable[[], Path], content: bytes) -> None:
    path = copy_index()
    (path / "polyqa.json").write_bytes(content)
    assert "polyqa.json is corrupt or of another version" in fault(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content.update(format=2), "of another version"),
        (lambda content: content.update(passages=39), "does not hold the 39 passages"),
        (lambda content: content.update(tokens=content["tokens"] + 1), "vectors do not match its passages"),
        (lambda content: content.update(fingerprint="0" * 16), "do not match its fingerprint"),
        (lambda content: content.update(checkpoint_hash="0" * 16), "do not match its fingerprint"),
        (lambda content: content["settings"].update(seed=1), "do not match its fingerprint"),
    ],
    ids=["format", "passages", "tokens", "fingerprint", "checkpoint", "settings"],
)
def test_a_manifest_that_lies(copy_index: Callable[[], Path], change: Callable[[Any], object], message: str) -> None:
    path = copy_index()
    edit_json(path / "polyqa.json", change)
    assert message in fault(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: lines[:-1], "does not hold the 40 passages"),
        (lambda lines: [], "does not hold the 40 passages"),
        (lambda lines: [*lines[:-1], "null"], "does not hold the 40 passages"),
        (lambda lines: [*lines, "null"], "do not match its fingerprint"),
        (lambda lines: [*lines[:-1], lines[-1][:30]], "passages.jsonl:40 is corrupt"),
        (lambda lines: [lines[0], "garbage", *lines[2:]], "passages.jsonl:2 is corrupt"),
        (lambda lines: [lines[1], lines[0], *lines[2:]], "do not match its fingerprint"),
        (lambda lines: [lines[0].replace("clover", "heather"), *lines[1:]], "do not match its fingerprint"),
        (lambda lines: [lines[0].replace("Honey", "Money"), *lines[1:]], "do not match its fingerprint"),
    ],
    ids=["line gone", "empty", "one null", "more null", "truncated", "garbage", "swapped", "text", "title"],
)
def test_changed_passages(
    copy_index: Callable[[], Path], change: Callable[[list[str]], list[str]], message: str
) -> None:
    path = copy_index()
    edit_lines(path / "passages.jsonl", change)
    assert message in fault(path)


@pytest.mark.parametrize(
    "file", ["0.codes.pt", "0.residuals.pt", "centroids.pt", "buckets.pt", "avg_residual.pt", "ivf.pid.pt"]
)
def test_a_truncated_tensor(copy_index: Callable[[], Path], file: str) -> None:
    path = copy_index()
    content = (path / file).read_bytes()
    (path / file).write_bytes(content[: len(content) // 2])
    assert "is corrupt" in fault(path)


@pytest.mark.parametrize("content", ["", "garbage", "{}", "[]", '{"num_chunks": "two"}'])
def test_broken_metadata(copy_index: Callable[[], Path], content: str) -> None:
    path = copy_index()
    (path / "metadata.json").write_text(content)
    assert "metadata.json is corrupt" in fault(path)


def test_metadata_of_another_build(copy_index: Callable[[], Path]) -> None:
    path = copy_index()
    edit_json(path / "metadata.json", lambda content: content.update(num_embeddings=1))
    assert "is corrupt" in fault(path)
    edit_json(path / "metadata.json", lambda content: content.update(num_chunks=2))
    assert "1.codes.pt, 1.residuals.pt, 1.metadata.json, doclens.1.json missing" in fault(path)


@pytest.mark.parametrize("count", [0, 39, 41])
def test_vectors_of_another_corpus(copy_index: Callable[[], Path], count: int) -> None:
    path = copy_index()
    np.save(path / "vectors.npy", np.ones((count, 384), dtype=np.float16))
    assert "vectors.npy does not match its passages" in fault(path)
