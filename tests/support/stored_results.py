"""Results of the embedded encoder, reader and writer, kept between tests, processes and runs of the tests.

The same few hundred texts are read in thousands of tests. What a model makes of one is kept in an SQLite file under
everything that decides it: the code of the models, the weights, the precision and the input. Tests of the models
themselves bypass it (`tests/models/conftest.py`), and so does everything with ``POLYQA_TEST_RESULTS=off``.
"""

import hashlib
import os
import pickle
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any

import polyqa
from polyqa.models import EMBEDDED_ENCODER, EMBEDDED_READER, EMBEDDED_WRITER, Encoder, Reader, Task, Writer, Written
from polyqa.models.loading import resolve_precision

ROOT = Path(polyqa.__file__).resolve().parents[1]
PATH = Path(os.environ.get("POLYQA_TEST_RESULTS") or ROOT / ".work" / "test-results.sqlite")
OFF = str(PATH) == "off"
_WAIT = 60  # seconds for another process that writes


class Store:
    """Results by what decides them; any number of threads and processes may use it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bypassed = False
        self._local = threading.local()

    def results(self, model: bytes, items: Sequence[Any], make: Callable[[list[Any]], Sequence[Any]]) -> list[Any]:
        """Return the result of every item: the kept one, else what ``make`` makes of it, which is kept."""
        if self.bypassed or not items:
            return list(make(list(items)))
        keys = [hashlib.blake2b(model + pickle.dumps(item, protocol=5), digest_size=20).digest() for item in items]
        kept = {key: self._read(key) for key in keys}
        missing = [(key, item) for key, item in zip(keys, items, strict=True) if kept[key] is None]
        if missing:
            made = make([item for _, item in missing])
            rows = [(key, pickle.dumps(result, protocol=5)) for (key, _), result in zip(missing, made, strict=True)]
            with self._database as database:
                database.executemany("INSERT OR REPLACE INTO results VALUES (?, ?)", rows)
            kept |= dict(rows)
        return [pickle.loads(kept[key]) for key in keys]  # type: ignore[arg-type]

    def _read(self, key: bytes) -> bytes | None:
        row = self._database.execute("SELECT result FROM results WHERE key = ?", (key,)).fetchone()
        return row and row[0]

    @property
    def _database(self) -> sqlite3.Connection:
        own = (os.getpid(), threading.get_ident())
        if getattr(self._local, "own", None) != own:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            database = sqlite3.connect(self.path, timeout=_WAIT)
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = OFF")  # what a power cut takes is made again
            database.execute("CREATE TABLE IF NOT EXISTS results (key BLOB PRIMARY KEY, result BLOB) WITHOUT ROWID")
            self._local.database, self._local.own = database, own
        return self._local.database


STORE = Store(PATH)


@contextmanager
def bypassed() -> Iterator[None]:
    """Run the models themselves in the block."""
    before, STORE.bypassed = STORE.bypassed, True
    try:
        yield
    finally:
        STORE.bypassed = before


@cache
def _version() -> bytes:
    models, code = ROOT / "polyqa" / "models", hashlib.blake2b(digest_size=20)
    queries = ROOT / "colbert_index" / "query_encoder.py"
    for path in (*sorted(models.rglob("*.py")), *sorted(models.glob("weights/**/*.safetensors")), queries):
        code.update(path.read_bytes())
    return code.digest()


def install() -> None:
    """Have the embedded models look into the store first."""
    if OFF:
        return
    version = _version()
    forward = Encoder._forward

    def stored_forward(self: Encoder) -> Callable[[list[str]], Any]:
        if self.name != EMBEDDED_ENCODER:
            return forward.func(self)
        loaded: list[Callable[[list[str]], Any]] = []

        def fresh(texts: list[str]) -> Any:
            if not loaded:
                loaded.append(forward.func(self))
            return loaded[0](texts)

        model = version + f"encoder {resolve_precision(self.precision)}".encode()
        return lambda texts: STORE.results(model, texts, fresh)

    property_ = cached_property(stored_forward)
    property_.__set_name__(Encoder, "_forward")
    Encoder._forward = property_  # type: ignore[method-assign, assignment]

    read_fresh = Reader._read_fresh

    def stored_read(self: Reader, pairs: Sequence[tuple[str, str]], keep: int) -> list[Any]:
        if self.name != EMBEDDED_READER:
            return read_fresh(self, pairs, keep)
        how = f"reader {resolve_precision(self.precision)} {keep}"
        return STORE.results(version + how.encode(), pairs, lambda missing: read_fresh(self, missing, keep))

    Reader._read_fresh = stored_read  # type: ignore[method-assign]

    write_fresh = Writer._write_fresh

    def stored_write(self: Writer, tasks: Sequence[Task]) -> list[Written]:
        if self.name != EMBEDDED_WRITER:
            return write_fresh(self, tasks)
        return STORE.results(version + b"written", tasks, lambda missing: write_fresh(self, missing))

    Writer._write_fresh = stored_write  # type: ignore[method-assign]


def load_checkpoint_once() -> None:
    """Hash and load the embedded ColBERT checkpoint once in this process, and store the vectors of queries."""
    from polyqa.colbert_index import build, compressing, index, trust, update

    for name, modules in {
        "checkpoint_hash": (build, trust),
        "load_checkpoint": (compressing, update),
        "load_query_encoder": (index,),
    }.items():
        once = _once(getattr(modules[0], name))
        for module in modules:
            setattr(module, name, once)


def _once(load: Callable[..., Any]) -> Callable[..., Any]:
    home = ROOT / "polyqa" / "models" / "checkpoints"  # others, which tests make, may change

    @lru_cache(maxsize=4)
    def kept(precision: str | None, location: Path | str, *settings: Any) -> Any:
        model = load(location, *settings)
        if load.__name__ != "load_query_encoder" or OFF:
            return model
        how = f"queries {Path(location).name} {settings} {resolve_precision('auto')}".encode()
        return lambda queries: STORE.results(_version() + how, list(queries), model)

    def loaded(location: Path | str, *settings: Any) -> Any:
        if Path(location).resolve().parent != home:
            return load(location, *settings)
        return kept(os.environ.get("POLYQA_PRECISION"), location, *settings)

    return loaded
