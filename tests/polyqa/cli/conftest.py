from pathlib import Path

import pytest
from harness import two_runs

from polyqa.colbert_index import build_index, read_corpus
from polyqa.colbert_index.store import checkpoint_home
from polyqa.models import Encoder

_CORPUS = Path(__file__).parents[2] / "questions" / "corpus.jsonl"


@pytest.fixture(scope="module")
def home(encoder: Encoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with an index of six passages."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "checkpoints").symlink_to(checkpoint_home())
    build_index(read_corpus(_CORPUS)[:6], folder / "indexes" / "six", encoder=encoder, progress=False)
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of two runs, one of them better, and of outputs without settings."""
    return two_runs(tmp_path_factory.mktemp("runs"), "poor", "good")
