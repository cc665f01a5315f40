"""The fit of confidence: signs that tell get weight, and the bar parts what is right from what cannot be answered."""

import json
import random
from pathlib import Path

import pytest

from lab.confidence import FEATURES, fit_readings, judge, least_of, read, row
from polyqa.confidence import WEIGHTS


def lines(tmp_path: Path) -> Path:
    """Write questions of two corpora: a high margin is right, as a rule, and a missing name is wrong."""
    chance = random.Random(0)
    made = []
    for number in range(200):
        answerable = number % 2 == 0
        signs = {"asked": chance.gauss(3 if answerable else -2, 1), "missing": int(not answerable), "worded": 0.5}
        made.append(
            {
                "corpus": "one" if number % 4 < 2 else "two",
                "question": str(number),
                "kind": "" if answerable else "other",
                "readings": [{**signs, "right": answerable}, {"right": False}],
            }
        )
    path = tmp_path / "lines.jsonl"
    path.write_text("\n".join(map(json.dumps, made)))
    return path


def test_what_tells_gets_weight_and_a_bar_parts_the_two(tmp_path: Path) -> None:
    told = read(lines(tmp_path))
    assert all(len(one.right) == 1 for one in told), "a reading that the reader cannot judge is left out"
    weights, bias = fit_readings(told)
    of = dict(zip(FEATURES, weights, strict=True))
    assert of["asked"] > 0 > of["missing"]
    shipped, alone = fit_readings(told, bias_alone=True)
    assert shipped.tolist() == [*WEIGHTS.values()]
    sure = [one.sure.sum() for one in judge(told, shipped, alone)]
    assert sum(sure) == pytest.approx(sum(one.right.sum() for one in told), abs=1e-6)
    judged = judge(told, weights, bias)
    least = least_of(judged)
    assert 0.05 <= least < 0.5
    assert row("all", judged, least)[1:] == ["100", "100% → 100%", "100%", "100%", "100", "0% → 100%"]
