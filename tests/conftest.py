import json
import os
import shutil
import signal
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import dspy
import pytest
import stored_results
from dspy.clients.cache import Cache
from filelock import FileLock
from hypothesis import settings

from polyqa.base.text import well_formed
from polyqa.base.values import Passage
from polyqa.colbert_index import ColBERTIndex, build_index
from polyqa.models import Encoder, Reader

# A shell that starts the tests in the background has them ignore Ctrl-C, and the tests of Ctrl-C with them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# The batches are small: where cores are shared, a second thread of torch spends its time waiting for the first.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# What is written down, such as the outputs of the lessons, is the same on every machine in float32 only.
os.environ.setdefault("POLYQA_PRECISION", "float32")

# Property tests draw the same examples on every run, so that a change is what makes a test fail; `make fuzz` draws
# others (--hypothesis-profile=long --hypothesis-seed=N). Neither keeps a database, and a busy machine is no failure.
settings.register_profile("same", max_examples=50, derandomize=True, database=None, deadline=None)
settings.register_profile("long", max_examples=1_000, database=None, deadline=None, print_blob=True)
settings.load_profile("same")

stored_results.install()
stored_results.load_checkpoint_once()
# Processes that tests start look into the stored results, too.
_SUBPROCESSES = str(Path(stored_results.__file__).parent / "subprocesses")
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (_SUBPROCESSES, os.environ.get("PYTHONPATH"))))

_PASSAGES = Path(__file__).parent / "colbert_index" / "passages.jsonl"


@pytest.fixture(scope="session")
def passages() -> list[Passage]:
    lines = _PASSAGES.read_text(encoding="utf-8").splitlines()
    return [Passage(pid=record["id"], title=record["title"], text=record["text"]) for record in map(json.loads, lines)]


@pytest.fixture(scope="session")
def encoder() -> Encoder:
    return Encoder()


@pytest.fixture(scope="session")
def reader() -> Reader:
    return Reader()


@pytest.fixture(scope="session")
def built_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[Path], object]], ColBERTIndex]:
    """Builds an index by name in the first worker that needs it; each worker has a copy of its own."""
    of_all = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        of_all = of_all.parent

    def built(name: str, build: Callable[[Path], object]) -> ColBERTIndex:
        with FileLock(of_all / f"{name}.lock"):
            if not (of_all / name).exists():
                build(of_all / name)
            return ColBERTIndex(shutil.copytree(of_all / name, tmp_path_factory.mktemp("indexes") / name))

    return built


@pytest.fixture(scope="session")
def index(passages: list[Passage], encoder: Encoder, built_once: Callable[..., ColBERTIndex]) -> ColBERTIndex:
    """Forty passages with stored vectors; tests that change an index take `copy_index` instead."""
    return built_once("forty", lambda folder: build_index(passages, folder, encoder=encoder, progress=False))


@pytest.fixture(scope="session")
def sharded(passages: list[Passage], encoder: Encoder, built_once: Callable[..., ColBERTIndex]) -> ColBERTIndex:
    """The forty passages in three shards."""
    return built_once(
        "three", lambda folder: build_index(iter(passages), folder, encoder=encoder, shards=3, progress=False)
    )


@pytest.fixture
def copy_index(index: ColBERTIndex, tmp_path: Path) -> Callable[[], Path]:
    def copy() -> Path:
        return Path(shutil.copytree(index.path, tmp_path / "copy"))

    return copy


@pytest.fixture
def copy_folder(copy_index: Callable[[], Path]) -> Callable[[], Path]:
    """Copies the index, and gives the folder of its version, ``copy/versions/…``."""
    return lambda: ColBERTIndex(copy_index()).folder


@pytest.fixture(autouse=True)
def _no_replies_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """DSPy's cache knows no addresses: the reply of one test's server would answer another's."""
    monkeypatch.setattr(dspy, "cache", Cache(enable_disk_cache=False, enable_memory_cache=True, disk_cache_dir=""))


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cache]:
    """A cache of DSPy's, in memory and on disk, that nothing else uses."""
    cache = Cache(enable_disk_cache=True, enable_memory_cache=True, disk_cache_dir=str(tmp_path / "cache"))
    monkeypatch.setattr(dspy, "cache", cache)
    yield cache
    cache.disk_cache.close()  # else some fifty files stay open until the garbage is collected


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Make what a test logged or printed fit to be sent: a worker of pytest-xdist ends over half a character."""
    report = yield
    report.sections = [(name, well_formed(text)) for name, text in report.sections]
    return report
