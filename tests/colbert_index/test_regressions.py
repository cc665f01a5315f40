"""Faults that were found by trying to break things, each mended."""

import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from polyqa.colbert_index import (
    ColBERTIndex,
    IndexFaultError,
    IndexSettings,
    add_passages,
    build_index,
    check_index,
    read_corpus,
    remove_passages,
)
from polyqa.colbert_index.engine import quiet
from polyqa.embedded_models import Reader
from polyqa.signatures import Passage, PolyqaError


# 1 stale handles
@pytest.mark.parametrize("second", ["add", "remove"])
@pytest.mark.parametrize("first", ["add", "remove"])
def test_a_handle_that_is_out_of_date_cannot_change_the_index(
    copy_index: Callable[[], Path], first: str, second: str
) -> None:
    changes = {
        "add": lambda index, n: add_passages(index, [{"id": f"new{n}", "text": f"Marmot {n} whistles."}]),
        "remove": lambda index, n: remove_passages(index, [("ice-blue", "tea-salt")[n]]),
    }
    old = ColBERTIndex(copy_index())
    new = changes[first](old, 0)
    with pytest.raises(PolyqaError, match="changed"):
        changes[second](old, 1)
    assert check_index(old.path).fingerprint == new.fingerprint


# 2 checks
@pytest.mark.parametrize("content", [b"", b"garbage" * 7, bytes(range(128, 256))], ids=["empty", "text", "bytes"])
@pytest.mark.parametrize(
    "file", ["0.codes.pt", "0.residuals.pt", "centroids.pt", "buckets.pt", "avg_residual.pt", "ivf.pid.pt"]
)
def test_a_garbage_tensor(copy_index: Callable[[], Path], file: str, content: bytes) -> None:
    path = copy_index()
    (path / file).write_bytes(content)
    with pytest.raises(IndexFaultError, match="is corrupt") as caught:
        check_index(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"garbage", None], ids=["empty", "garbage", "half"])
def test_garbage_vectors(copy_index: Callable[[], Path], content: bytes | None) -> None:
    file = copy_index() / "vectors.npy"
    file.write_bytes(file.read_bytes()[:2000] if content is None else content)
    with pytest.raises(IndexFaultError, match=r"vectors\.npy"):
        check_index(file.parent)


@pytest.mark.parametrize("change", [lambda a: a * 0, lambda a: a[:, :5], lambda a: a[:, 0], lambda a: a[::-1]])
def test_wrong_vectors(copy_index: Callable[[], Path], change: Callable[[Any], Any]) -> None:
    file = copy_index() / "vectors.npy"
    np.save(file, change(np.load(file)))
    with pytest.raises(IndexFaultError, match=r"vectors\.npy"):
        check_index(file.parent)


@pytest.mark.parametrize(
    "file",
    ["data.csc.index.npy", "indices.csc.index.npy", "indptr.csc.index.npy", "vocab.index.json", "params.index.json"],
)
@pytest.mark.parametrize("gone", [True, False], ids=["missing", "garbage"])
def test_a_broken_bm25(copy_index: Callable[[], Path], file: str, gone: bool) -> None:
    path = copy_index()
    target = path / "bm25" / file
    target.unlink() if gone else target.write_bytes(b"garbage")
    with pytest.raises(IndexFaultError, match="bm25") as caught:
        check_index(path)
    assert "\n" not in str(caught.value)


def test_a_passage_without_fields_is_told_on_one_line(copy_index: Callable[[], Path]) -> None:
    path = copy_index()
    lines = (path / "passages.jsonl").read_text().splitlines()
    (path / "passages.jsonl").write_text("\n".join(["{}", *lines[1:]]) + "\n")
    with pytest.raises(IndexFaultError, match=r"passages\.jsonl:1 is corrupt") as caught:
        check_index(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("file", ["plan.json", "0.metadata.json"])
def test_broken_json_of_colbert(copy_index: Callable[[], Path], file: str) -> None:
    path = copy_index()
    (path / file).write_text("garbage")
    with pytest.raises(IndexFaultError, match="corrupt"):
        check_index(path)


def test_unknown_settings(copy_index: Callable[[], Path]) -> None:
    path = copy_index()
    manifest = json.loads((path / "polyqa.json").read_text())
    manifest["settings"]["nested"] = 1
    (path / "polyqa.json").write_text(json.dumps(manifest))
    with pytest.raises(IndexFaultError):
        check_index(path)


_CHECK = """
import sys
from polyqa.colbert_index import IndexFaultError, check_index
try:
    check_index(sys.argv[1])
except IndexFaultError as error:
    print(error)
else:
    sys.exit("passed")
"""


@pytest.mark.parametrize("change", [lambda t: t[: len(t) // 2], lambda t: t + 10_000], ids=["short", "out of range"])
def test_codes_that_do_not_fit(copy_index: Callable[[], Path], change: Callable[[Any], Any]) -> None:
    path = copy_index()
    torch.save(change(torch.load(path / "0.codes.pt", weights_only=True)), path / "0.codes.pt")
    # In a process of its own: colbert-ai's C++ aborts the process.
    done = subprocess.run([sys.executable, "-c", _CHECK, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-300:]
    assert done.stdout.count("\n") == 1


def test_shuffled_tokens_of_a_tiny_index(passages: list[Passage], tmp_path: Path) -> None:
    path = build_index(passages[::8], tmp_path / "x", progress=False).path
    for name in ("codes", "residuals"):
        tensor = torch.load(path / f"0.{name}.pt", weights_only=True)
        torch.save(tensor.flip(0), path / f"0.{name}.pt")
    with pytest.raises(IndexFaultError, match="do not find themselves"):
        check_index(path)


# 3 reproducible checkpoint
_HASH = "from polyqa.colbert_index.checkpoint import *; print(checkpoint_hash(str(embedded_checkpoint())))"


def test_the_checkpoint_is_the_same_with_any_number_of_threads(tmp_path: Path) -> None:
    hashes = set()
    for threads in ("1", "2"):
        environment = {**os.environ, "OMP_NUM_THREADS": threads, "POLYQA_HOME": str(tmp_path / threads)}
        hashes.add(
            subprocess.run(
                [sys.executable, "-c", _HASH], env=environment, capture_output=True, text=True, check=True
            ).stdout
        )
    assert len(hashes) == 1


# 4 reader
@pytest.mark.parametrize("words", [253, 300, 600])
def test_a_long_question_is_read(reader: Reader, words: int) -> None:
    context = "The red kite flew over the barn. " * 100
    reading = reader.read([("what " * words, context)])[0]
    assert reading.null_score != 0


def test_pairs_are_told_apart_by_their_parts() -> None:
    pairs = [("Who owns it\x1fThe kite", "is red."), ("Who owns it", "The kite\x1fis red.")]
    together = Reader().read(pairs)
    assert together == [Reader().read([pair])[0] for pair in pairs]


def test_a_reader_can_be_pickled() -> None:
    loaded = pickle.loads(pickle.dumps(Reader(stride=64, memory=7)))
    assert (loaded.name, loaded.stride) == ("polyqa-minilm-reader", 64)
    assert loaded.read([("What is red?", "The kite is red.")])[0].spans


def test_keep_gives_as_many_places_as_there_are(reader: Reader) -> None:
    context = "The first boat is red. The second boat is yellow. The third boat is black."
    assert len(reader.read([("What colour is the boat?", context)], keep=3)[0].spans) == 3


# 5 corpus
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("c.tsv", "a\t" + "word " * 40_000 + "\n"),
        ("c.tsv", "\nid\ttext\n1\tGreen tea.\n"),
    ],
    ids=["long field", "blank line before the header"],
)
def test_readable_corpora(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    assert [passage.pid for passage in read_corpus(tmp_path / name)] in (["a"], ["1"])


@pytest.mark.parametrize(
    "line",
    ['{"id": "a", "text": "x \\ud800 y"}', '{"id": ' + "1" * 5000 + ', "text": "x"}', "[" * 100_000],
    ids=["surrogate", "long number", "deep"],
)
def test_odd_json(tmp_path: Path, line: str) -> None:
    (tmp_path / "c.jsonl").write_text('{"id": 1, "text": "fine"}\n' + line + "\n")
    with pytest.raises(PolyqaError, match=r"c\.jsonl:2"):
        read_corpus(tmp_path / "c.jsonl")


@pytest.mark.parametrize("texts", [["the of and"], ["...", "?!"]])
def test_a_corpus_without_a_word_for_bm25(tmp_path: Path, texts: list[str]) -> None:
    built = build_index(texts, tmp_path / "x", progress=False)
    assert built.bm25.search("the kite") == []
    assert ColBERTIndex(built.path).bm25.search("the kite") == []
    assert check_index(built.path).search("the kite", k=1)


# 6 places
def test_an_index_behind_a_link_can_be_rebuilt(copy_index: Callable[[], Path]) -> None:
    link = copy_index().with_name("link")
    link.symlink_to("copy")
    for text in ("one whistle", "two whistles"):
        assert build_index([text], link, overwrite=True, progress=False).passages[0].text == text
    assert ColBERTIndex(link.with_name("copy")).passages[0].text == "two whistles"
    assert link.is_symlink()


def test_a_relative_path_outlives_a_change_of_folder(
    copy_index: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = copy_index()
    monkeypatch.chdir(path.parent)
    index = ColBERTIndex(Path("copy"))
    pickled = pickle.dumps(index)
    monkeypatch.chdir("/")
    assert index.search("kite", k=1)
    assert pickle.loads(pickled).fingerprint == index.fingerprint


@pytest.mark.parametrize("settings", [{"nbits": 3}, {"doc_maxlen": 600}, {"doc_maxlen": 2}, {"batch_size": 0}])
def test_impossible_settings_are_refused(tmp_path: Path, settings: dict[str, int]) -> None:
    with pytest.raises((ValueError, PolyqaError), match=next(iter(settings))):
        build_index(
            ["A kite climbs. " * 99, "Tea."], tmp_path / "x", settings=IndexSettings(**settings), progress=False
        )  # type: ignore[arg-type]


def test_a_handle_not_yet_used_says_that_the_index_changed(
    copy_index: Callable[[], Path], passages: list[Passage]
) -> None:
    old = ColBERTIndex(copy_index())
    changed = [passages[0].model_copy(update={"text": "A marmot whistles."}), *passages[1:]]
    build_index(changed, old.path, overwrite=True, progress=False)
    with pytest.raises(IndexFaultError, match="has changed since it was opened"):
        old.search("marmot whistle", k=40)


def test_quiet_in_two_threads_gives_standard_output_back() -> None:
    before = sys.stdout
    entered, leave = threading.Event(), threading.Event()

    def first() -> None:
        with quiet():
            entered.set()
            leave.wait(10)

    def second() -> None:
        with quiet():
            pass

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    threads[0].start()
    assert entered.wait(10)
    threads[1].start()
    leave.set()
    for thread in threads:
        thread.join(10)
    assert sys.stdout is before
