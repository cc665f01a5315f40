"""A fork of a process whose models were in use is told that it has no threads; it waits for none."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.colbert_index import ColBERTIndex, build_index
from polyqa.models import Encoder, Reader, Task, Writer, running

FORKED = """
import multiprocessing, os, sys
from polyqa.colbert_index import ColBERTIndex
from polyqa.base.errors import PolyqaError

def search(path):
    try:
        return f"found {ColBERTIndex(path).search('Where do beavers build?', 1)[0].pid}"
    except PolyqaError as error:
        return str(error)

if __name__ == "__main__":
    path, method, used = sys.argv[1:]
    if used == "after use":
        search(path)
    with multiprocessing.get_context(method).Pool(1) as pool:
        print(pool.apply_async(search, (path,)).get(timeout=180))
    print(search(path))
"""
Use = Callable[[], object]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "used", "told"),
    [
        ("fork", "after use", 'multiprocessing.get_context("spawn")'),
        ("spawn", "after use", "found "),
        ("fork", "before use", "found "),
    ],
)
def test_processes_search_or_are_told(index: ColBERTIndex, tmp_path: Path, method: str, used: str, told: str) -> None:
    script = tmp_path / "forked.py"
    script.write_text(FORKED)
    threads = {"OMP_NUM_THREADS": "2", "TOKENIZERS_PARALLELISM": "true"}
    done = subprocess.run(
        [sys.executable, script, index.path, method, used],
        capture_output=True,
        text=True,
        timeout=400,
        env={**os.environ, **threads},
        check=True,
    )
    in_child, in_parent = done.stdout.splitlines()
    assert told in in_child
    assert "\n" not in in_child
    assert in_parent.startswith("found "), "the parent goes on"


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have this process take itself for a fork of one that used models."""
    monkeypatch.setattr(running._User, "pid", -1)
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "true")


@pytest.fixture
def uses(index: ColBERTIndex, encoder: Encoder, reader: Reader, tmp_path: Path) -> dict[str, Use]:
    passage = Passage(pid="1", title="Dams", text="Beavers build dams.")
    return {
        "search": lambda: ColBERTIndex(index.path).search("dams"),
        "build": lambda: build_index([passage], tmp_path / "new", progress=False),
        "encode": lambda: encoder.encode(["dams"]),
        "read": lambda: reader.read([("Who builds dams?", passage.text)]),
        "write": lambda: Writer().write([Task(passage.text, 0, 7)]),
        "likelihood": lambda: Writer().likelihood([Task(passage.text, 0, 7)], ["Who builds dams?"]),
    }


@pytest.mark.parametrize("use", ["search", "build", "encode", "read", "write", "likelihood"])
@pytest.mark.usefixtures("forked")
def test_whatever_uses_a_model_is_refused(use: str, uses: dict[str, Use], tmp_path: Path) -> None:
    with pytest.raises(PolyqaError, match="forked after a search or a model had run in process -1") as told:
        uses[use]()
    assert "\n" not in str(told.value)
    assert not (tmp_path / "new").exists()


@pytest.mark.usefixtures("forked")
def test_without_threads_a_fork_goes_on(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    with pytest.raises(PolyqaError, match="forked"):
        encoder.encode(["dams"])
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    assert encoder.encode(["dams"]).shape[0] == 1
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "true")
    assert encoder.encode(["weirs"]).shape[0] == 1, "it uses models itself now"
