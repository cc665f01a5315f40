"""Pictures of compilations."""

import re
from pathlib import Path

import pytest

from polyqa.base.errors import PolyqaError
from polyqa.optimizers.trials import Trial
from polyqa.reports.compilation_plots import plot_trials

TRIALS = [
    Trial(number=0, label="as it was", on="dev", n=4, score=0.3, calls=4, kept=True),
    Trial(number=1, label="a", on="train", n=2, score=0.2, calls=9, parent=0),
    Trial(number=2, label="b", on="train", n=6, score=0.4, calls=19, parent=0, kept=True),
    Trial(number=3, label="c", on="held-out", n=2, score=0.1, calls=25, parent=2),
    Trial(number=4, label="never scored", calls=25, parent=2),
    Trial(number=5, label="compiled", on="dev", n=4, score=0.35, calls=40, parent=2, kept=True),
]


def texts(svg: Path) -> list[str]:
    return re.findall(r"<!-- (.*?) -->", svg.read_text(encoding="utf-8"), re.DOTALL)


def test_each_set_of_questions_has_its_own_mark(tmp_path: Path) -> None:
    shown = texts(plot_trials(TRIALS, tmp_path / "trials.svg", metric="DR"))
    for told in ("dev, kept", "train, kept", "train, dropped", "held out, dropped", "DR, mean per question"):
        assert told in shown
    assert "dev, dropped" not in shown
    assert {"0", "2", "5"} <= set(shown), "the numbers of those that were kept"
    assert plot_trials(TRIALS[:1], tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("trials", "name", "told"), [([TRIALS[4]], "x.png", "no candidate .* was scored"), (TRIALS, "x.gif", "written as")]
)
def test_what_cannot_be_drawn_is_told(trials: list[Trial], name: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(PolyqaError, match=told):
        plot_trials(trials, tmp_path / name)
    assert list(tmp_path.iterdir()) == []
