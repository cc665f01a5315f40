"""What is reckoned for a cluster follows from what was measured."""

import pytest

from lab.building import Building, Built
from lab.centroids import Finding, Found
from lab.reckoning import CENTROIDS, PASSAGES, Reckoning

BUILDING = Building(
    command="",
    date="",
    corpus="",
    passages=1_000,
    cores=2,
    processor="",
    built=[
        Built(how=how, seconds=seconds, megabytes=1, disk=1.0, milliseconds=1.0, itself=1.0)
        for how, seconds in (("polyqa, 4 shards", 1.0), ("polyqa, one part", 50.0))
    ],
)
FINDING = Finding(
    command="",
    date="",
    corpus="",
    vectors=1,
    tokens=100.0,
    processor="",
    found=[
        Found(centroids=count, how=how, milliseconds=milliseconds, nearest=1.0)
        for count, how, milliseconds in (
            (CENTROIDS, "colbert-ai", 900.0),
            (16_384, "polyqa", 1.0),
            (CENTROIDS, "polyqa", 60.0),
        )
    ],
)


def test_a_worker_takes_what_its_cores_were_measured_to_take() -> None:
    reckoning = Reckoning.of(BUILDING, FINDING)
    assert reckoning.rate == 20
    assert reckoning.finding == pytest.approx(0.03)  # 60 ms of one core, on two
    assert reckoning.each == pytest.approx(1 / 20 + 0.03)
    assert reckoning.building(1) == pytest.approx(PASSAGES * 0.08 / 3_600)
    assert reckoning.building(64) == pytest.approx(reckoning.building(1) / 64)
    assert reckoning.kmeans == pytest.approx(4 * CENTROIDS * 64 / 100 * 0.03 / 3_600)


def test_the_arithmetic_is_shown() -> None:
    text = Reckoning.of(BUILDING, FINDING).text(2)
    assert "524,288 × 64 / 100 = 335,544 passages" in text
    assert "21,000,000 × 0.080 / 86,400 = 19.4 days" in text
    assert text.count("\n| ") == 5
