"""Hostile documents: the short form of the campaign, and that it tells what goes wrong."""

from pathlib import Path

import pytest

from lab.faults.documents import KINDS, Place, _remove_deep, read_round

QUICK = ("XML entities that read other files", "a page that asks a server", "links out of the folder", "names of files")


def test_hostile_files_are_read_or_named_and_nothing_leaks(tmp_path: Path) -> None:
    counts, wrong = read_round(tmp_path, {kind: KINDS[kind] for kind in QUICK}, seed=0)
    assert wrong == []
    assert counts.keys() == {*QUICK}
    assert {outcome for own in counts.values() for outcome in own} <= {"read", "left out"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in QUICK])
def test_every_kind_holds(kind: str, tmp_path: Path) -> None:
    wrong = read_round(tmp_path, {kind: KINDS[kind]}, seed=1)[1]
    _remove_deep(tmp_path)
    assert wrong == []


def test_a_leak_is_found(tmp_path: Path) -> None:
    def leak(place: Place) -> None:
        place.write("leak.md", place.secret.read_bytes())

    counts, wrong = read_round(tmp_path, {"a leak": leak}, seed=0)
    assert counts == {"a leak": {"leaked": 1}}
    assert "leaked" in wrong[0]
