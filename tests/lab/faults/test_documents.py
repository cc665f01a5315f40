"""Hostile documents: the short form of the campaign, and that it tells what goes wrong."""

import subprocess
import sys
from pathlib import Path

import pytest

from lab.faults.documents import KINDS, Place, _remove_deep, read_round

QUICK = ("XML entities that read other files", "a page that asks a server", "links out of the folder", "names of files")


# A fork of this process, whose threads earlier tests have started, may wait for ever for a lock of one of them.
_ROUND = """
import sys
from pathlib import Path
from lab.faults.documents import KINDS, read_round
counts, wrong = read_round(Path(sys.argv[1]), {kind: KINDS[kind] for kind in sys.argv[2:]}, seed=1)
assert not wrong, wrong
assert counts.keys() == {*sys.argv[2:]}, counts
"""


@pytest.mark.parametrize(
    "kinds", [QUICK, *(pytest.param((kind,), marks=pytest.mark.slow) for kind in KINDS if kind not in QUICK)]
)
def test_hostile_files_are_read_or_named_and_nothing_leaks(kinds: tuple[str, ...], tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _ROUND, tmp_path, *kinds], capture_output=True, text=True, check=False)
    _remove_deep(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_leak_is_found(tmp_path: Path) -> None:
    def leak(place: Place) -> None:
        place.write("leak.md", place.secret.read_bytes())

    counts, wrong = read_round(tmp_path, {"a leak": leak}, seed=0)
    assert counts == {"a leak": {"leaked": 1}}
    assert "leaked" in wrong[0]
