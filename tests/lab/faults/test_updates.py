"""The short form of the attack: real processes read an index while another changes it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from lab.faults import updates
from lab.faults.updates import attack, read
from polyqa.base.errors import PolyqaError
from polyqa.colbert_index import ColBERTIndex
from polyqa.colbert_index.files import PASSAGES, read_passages, write_passages


@pytest.fixture(autouse=True)
def forks_may_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the command does; that torch has one thread is so in all tests."""
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")


@pytest.mark.slow
def test_every_read_beside_a_writer_is_whole(index: ColBERTIndex) -> None:
    measured = attack(index.path, reads=30, updates=10, seed=0, show=False)
    assert measured.worst == []
    assert measured.updates >= 10
    assert sum(counts["whole"] for counts in measured.rows.values()) >= 30
    assert all(counts.get("whole") for counts in measured.rows.values()), "each way of reading was tried"
    assert measured.left == 1
    assert "| opens the index |" in measured.table()


def test_an_index_of_two_versions_is_not_whole(copy_folder: Callable[[], Path]) -> None:
    path = copy_folder()
    (path / "checksums.json").unlink()
    passages = read_passages(path / PASSAGES)
    write_passages(path / PASSAGES, [*passages[1:], passages[0]])
    with pytest.raises(ValueError, match="does not find"):
        read(ColBERTIndex(path))


@pytest.mark.parametrize(
    ("error", "outcome"), [(PolyqaError("no"), "refused"), (ValueError("no"), "wrong"), (OSError("no"), "crashed")]
)
@pytest.mark.parametrize("way", updates._WAYS)
def test_what_goes_wrong_is_told_apart(
    way: str, error: Exception, outcome: str, index: ColBERTIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: ColBERTIndex) -> None:
        raise error

    monkeypatch.setattr(updates, "read", fail)
    told, why = updates._WAYS[way](index.path)()
    assert told == outcome
    assert "no" in why
