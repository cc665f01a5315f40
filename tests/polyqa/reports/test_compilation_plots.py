"""Pictures of compilations."""

import re

from polyqa.optimizers.trials import Trial
from polyqa.reports.compilation_plots import draw_trials, inline_svg

TRIALS = [
    Trial(number=0, label="as it was", on="dev", n=4, score=0.3, calls=4, kept=True),
    Trial(number=1, label="a", on="train", n=2, score=0.2, calls=9, parent=0),
    Trial(number=2, label="b", on="train", n=6, score=0.4, calls=19, parent=0, kept=True),
    Trial(number=3, label="c", on="train", n=2, score=0.1, calls=25, parent=2),
    Trial(number=4, label="never scored", calls=25, parent=2),
    Trial(number=5, label="compiled", on="dev", n=4, score=0.35, calls=40, parent=2, kept=True),
]


def test_each_set_of_questions_has_its_own_mark() -> None:
    scored = [trial for trial in TRIALS if trial.score is not None]
    shown = re.findall(r">([^<>]+)</text>", inline_svg(draw_trials(scored, "DR")))
    for told in ("dev, kept", "train, kept", "train, dropped", "DR, mean per question"):
        assert told in shown
    assert "dev, dropped" not in shown
    assert {"0", "2", "5"} <= set(shown), "the numbers of those that were kept"
    assert "<svg" in inline_svg(draw_trials(TRIALS[:1], "DR"))
