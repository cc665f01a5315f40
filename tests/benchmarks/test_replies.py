import subprocess
import sys

import pytest

from polyqa.benchmarks.replies import REPLIES, replies, tally


@pytest.fixture(scope="module")
def table() -> dict[str, dict[str, int]]:
    return {kind: dict(counts) for kind, counts in tally(replies()).items()}


def test_no_reply_is_read_wrongly_and_hardly_any_is_refused(table: dict[str, dict[str, int]]) -> None:
    assert sum(sum(counts.values()) for counts in table.values()) == REPLIES >= 10_000
    assert {kind: counts["wrong"] for kind, counts in table.items() if counts.get("wrong")} == {}
    for kind, counts in table.items():
        assert counts["read"] >= 0.97 * sum(counts.values()), kind


def test_the_seed_decides() -> None:
    first, again, other = ([one.text for one in replies(200, seed)] for seed in (1, 1, 2))
    assert first == again != other


def test_the_command_prints_a_row_for_each_kind(table: dict[str, dict[str, int]]) -> None:
    command = [sys.executable, "-m", "polyqa.benchmarks.replies", "--replies", "110"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert [line[:24].strip() for line in printed[1:]] == list(table)
