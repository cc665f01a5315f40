import os
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from polyqa.base import files
from polyqa.base.values import Passage
from polyqa.documents import Splitter
from polyqa.documents import folder as folders
from polyqa.documents.worker import Worker


class Staying:
    """A converter that is there for the next folder, too: to start its process takes longer than a test."""

    def __init__(self, splitter: Splitter) -> None:
        self.worker = Worker(splitter)
        self.lock = threading.Lock()

    def passages(self, path: Path, source: str) -> list[Passage] | str:
        with self.lock:
            return self.worker.passages(path, source)

    def close(self) -> None:
        pass


@pytest.fixture(scope="module", autouse=True)
def _converters_stay() -> Iterator[None]:
    started: dict[tuple[int, int], Staying] = {}

    def of(splitter: Splitter) -> Staying:
        key = splitter.tokens, splitter.overlap
        if key not in started:
            started[key] = Staying(splitter)
        return started[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folders, "Worker", of)
        yield
    for converter in started.values():
        converter.worker.close()


@pytest.fixture
def no_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    """No folder of the name ``locked`` can be read: an administrator may read all, and tests may run as one."""
    real = os.scandir

    def scandir(path: Path) -> Any:
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(files, "os", SimpleNamespace(**{**vars(os), "scandir": scandir}))
