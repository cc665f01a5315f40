"""The short form of the attack: real processes read an index while another changes it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from lab.faults.updates import WAYS, attack, problem_of, read
from polyqa.base.errors import PolyqaError
from polyqa.colbert_index import ColBERTIndex
from polyqa.colbert_index.files import PASSAGES, read_passages, write_checksums, write_passages


@pytest.fixture(autouse=True)
def forks_may_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the command does; that torch has one thread is so in all tests."""
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")


@pytest.mark.slow
def test_every_read_beside_a_writer_is_whole(index: ColBERTIndex) -> None:
    table, wrong, about = attack(index.path, reads=30, updates=10, seed=0)
    assert wrong == []
    assert about.endswith("versions left at the end: 1")
    assert sum(int(row[1]) for row in table.rows) >= 30
    assert all(row[1] == row[2] != "0" for row in table.rows), "each way of reading was tried"


def test_an_index_of_two_versions_is_not_whole(copy_folder: Callable[[], Path]) -> None:
    path = copy_folder()
    passages = read_passages(path / PASSAGES)
    write_passages(path / PASSAGES, [*passages[1:], passages[0]])
    write_checksums(path)
    assert "does not find" in problem_of(ColBERTIndex(path.parents[1]))


@pytest.mark.parametrize(
    ("problem", "outcome"),
    [(PolyqaError("no"), "refused"), ("no", "wrong"), (RuntimeError("no"), "crashed"), ("", "whole")],
)
@pytest.mark.parametrize("way", WAYS)
def test_what_goes_wrong_is_told_apart(way: str, problem: Exception | str, outcome: str) -> None:
    def use() -> str:
        if isinstance(problem, Exception):
            raise problem
        return problem

    kind, why = read(way, use)
    assert kind == outcome
    assert ("no" in why) == (outcome != "whole")
