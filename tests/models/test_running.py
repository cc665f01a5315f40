import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.colbert_index import ColBERTIndex, build_index
from polyqa.models import Encoder, Reader, Task, Writer, running
from polyqa.models.running import MALLOC_VARIABLES, by_padded_length


@given(st.lists(st.integers(1, 50)), st.integers(1, 7), st.integers(1, 20))
def test_every_text_is_in_one_batch_and_fits(lengths: list[int], batch_size: int, step: int) -> None:
    batches = list(by_padded_length(lengths, batch_size, step=step, longest=50))
    assert sorted(position for batch, _ in batches for position in batch) == list(range(len(lengths)))
    for batch, padded in batches:
        assert 1 <= len(batch) <= batch_size
        for position in batch:
            assert padded == min(50, -(-lengths[position] // step) * step) >= lengths[position]


def test_what_is_made_of_a_text_hardly_depends_on_the_others() -> None:
    texts = ["Who mends the nets?", "Piet mends the nets on Sundays. " * 9, "The harbour is closed. " * 20]
    vectors = Encoder().encode(texts)
    for text, vector in zip(texts, vectors, strict=True):
        assert float(Encoder().encode([text])[0] @ vector) > 0.99999
    pairs = [(texts[0], text) for text in texts[1:]]
    for pair, reading in zip(pairs, Reader(precision="auto").read(pairs), strict=True):
        alone = Reader(precision="auto").read([pair])[0]
        assert alone.spans[0].text == reading.spans[0].text
        assert abs(alone.spans[0].score - reading.spans[0].score) < 0.05


# A fork of a process whose models were in use is told that it has no threads; it waits for none.
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
    }


@pytest.mark.parametrize("use", ["search", "build", "encode", "read", "write"])
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


def number_told(program: str, environment: dict[str, str]) -> int:
    """Run a program where nothing but this says how memory is kept; return the number that it prints."""
    others = {name: said for name, said in os.environ.items() if name not in MALLOC_VARIABLES}
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, env=others | environment, capture_output=True, text=True, check=True)
    return int(done.stdout)


# Memory that was freed is taken again without the system, unless the environment says otherwise.
PROGRAM = """
import ctypes, resource
import torch
from polyqa.models.running import keep_freed_memory
ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)  # PR_SET_THP_DISABLE: a huge page would be one fault for 512 pages
keep_freed_memory()
def batch():
    kept = [torch.ones(12 << 18) for _ in range(4)]  # 12 MB each
for _ in range(3):
    batch()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    batch()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library keeps memory its own way")
@pytest.mark.parametrize(
    ("environment", "kept"),
    [({}, True), ({"MALLOC_TRIM_THRESHOLD_": "1000"}, False), ({"MALLOC_MMAP_THRESHOLD_": "1000000"}, False)],
)
def test_a_batch_takes_the_memory_of_the_one_before(environment: dict[str, str], kept: bool) -> None:
    # What glibc does by itself is no row: it depends on what lies above an array on the heap.
    told = number_told(PROGRAM, environment)
    pages = 5 * 4 * 12 * 256  # of 4 kB
    assert (told < pages / 10) is kept, told


THREADS = """
import ctypes, tempfile, threading
from polyqa.models.running import keep_freed_memory

keep_freed_memory()
libc = ctypes.CDLL(None)
libc.malloc.restype = libc.fdopen.restype = ctypes.c_void_p
ready = threading.Barrier(17)


def allocate():
    libc.malloc(100_000)
    ready.wait()


threads = [threading.Thread(target=allocate) for _ in range(16)]
for thread in threads:
    thread.start()
ready.wait()
with tempfile.TemporaryFile() as file:
    stream = libc.fdopen(file.fileno(), b"w")
    libc.malloc_info(0, ctypes.c_void_p(stream))
    libc.fflush(ctypes.c_void_p(stream))
    file.seek(0)
    print(file.read().count(b"<heap "))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="counts the heaps of glibc")
def test_what_many_threads_have_freed_is_kept_in_two_heaps() -> None:
    assert number_told(THREADS, {}) == 2
