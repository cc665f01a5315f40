"""What models read in tests is kept apart from what they read for the user."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from local_model import local_lm

from polyqa.lm.local import LocalLM, process
from polyqa.lm.local import kept as keeping
from polyqa.models import gguf


@pytest.fixture(scope="module")
def lm() -> Iterator[LocalLM]:
    lm = local_lm()
    yield lm
    lm.server.stop()


@pytest.fixture(autouse=True, scope="module")
def kept_apart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("kept")
    with pytest.MonkeyPatch.context() as patch:
        _keep_in(folder, patch)
        yield


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of what models have read, empty."""
    folder = tmp_path / "kept"
    folder.mkdir()
    _keep_in(folder, monkeypatch)
    return folder


def _keep_in(folder: Path, patch: pytest.MonkeyPatch) -> None:
    for module in (gguf, process, keeping):
        patch.setattr(module, "kept_folder", lambda: folder)
