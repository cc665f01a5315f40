"""The fit of confidence: signs that tell get weight, and the bar parts what is right from what cannot be answered."""

import json
import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lab.confidence import FEATURES, app, fit_readings, judge, least_of, read, row
from lab.results import Measured
from polyqa.confidence import WEIGHTS


def lines(tmp_path: Path, *, noise: float = 0.0) -> Path:
    """Write questions of two corpora: a high margin is right, as a rule, and a missing name is wrong.

    With noise neither tells much of the second corpus.
    """
    chance = random.Random(0)
    made = []
    for number in range(200):
        answerable = number % 2 == 0
        corpus = "one" if number % 4 < 2 else "two"
        margin = chance.gauss(3 if answerable else -2, 1 + noise * (corpus == "two"))
        signs = {"asked": margin, "missing": int(not answerable and not noise), "worded": 0.5}
        made.append(
            {
                "program": "rac",
                "lm": "m",
                "corpus": corpus,
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


def test_a_kind_is_told_by_the_bars_that_the_corpora_are(tmp_path: Path) -> None:
    to = tmp_path / "c.json"
    words = ["fit", str(lines(tmp_path, noise=4)), "--json", str(to)]
    assert CliRunner().invoke(app, words, catch_exceptions=False).exit_code == 0
    tables = Measured.model_validate_json(to.read_bytes()).tables
    kept = {one[0]: float(one[3].rstrip("%")) for one in tables["corpora"].rows}
    told = {one[0]: float(one[4].rstrip("%")) for one in tables["kinds"].rows}
    assert kept["one"] != kept["two"]
    assert told["answerable"] == (kept["one"] + kept["two"]) / 2, "the corpora ask as many questions"
