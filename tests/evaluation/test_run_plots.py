"""Pictures of runs say which questions were won and lost, and which runs no other beats."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from harness import long_form, record, run_of, settings_of

from polyqa.base.errors import PolyqaError
from polyqa.evaluation.plots import FORMATS
from polyqa.evaluation.run_plots import plot_changes, plot_costs
from polyqa.evaluation.runs import Run

MAGIC = {".png": b"\x89PNG\r\n\x1a\n", ".svg": b"<?xml", ".pdf": b"%PDF-"}
BEFORE = run_of(long_form(12, lambda at: 0.4), "before")
AFTER = run_of(long_form(14, lambda at: 0.6 if at < 5 else 0.4 if at < 9 else 0.1), "after")


def texts(svg: Path) -> str:
    """Return the texts of a picture, which matplotlib keeps as comments."""
    return "\n".join(re.findall(r"<!-- (.*?) -->", svg.read_text(encoding="utf-8"), re.DOTALL))


def costing(name: str, tokens: int, score: float) -> Run:
    scores = dict.fromkeys(("disambig_f1", "rouge_l", "str_em"), score)
    return run_of([record(f"q{at}", scores, input_tokens=tokens, output_tokens=10) for at in range(5)], name)


CHEAP, MIDDLE, DEAR, POOR = (
    costing("cheap", 100, 0.2),
    costing("middle", 1_000, 0.4),
    costing("dear", 9_000, 0.5),
    costing("poor", 8_000, 0.3),
)


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("draw", [lambda to: plot_changes(BEFORE, AFTER, to), lambda to: plot_costs([CHEAP, DEAR], to)])
def test_pictures_are_pictures(draw: Callable[[Path], Path], suffix: str, tmp_path: Path) -> None:
    path = draw(tmp_path / "new" / f"figure{suffix}")
    assert path.read_bytes().startswith(MAGIC[suffix])
    assert path.stat().st_size > 5_000
    assert list(path.parent.iterdir()) == [path], "no draft is left"


@pytest.mark.parametrize(
    ("runs", "told"),
    [
        ((BEFORE, AFTER), ("5 won", "4 drawn", "3 lost", "12 questions", "after", "before")),
        ((BEFORE, BEFORE), ("0 won", "12 drawn", "0 lost")),
        ((AFTER, BEFORE), ("3 won", "4 drawn", "5 lost")),
        ((run_of(long_form(1, lambda at: 0.2)), BEFORE), ("1 won", "0 drawn", "1 question,")),
    ],
)
def test_wins_ties_and_losses_are_counted(runs: tuple[Run, Run], told: tuple[str, ...], tmp_path: Path) -> None:
    shown = texts(plot_changes(*runs, tmp_path / "figure.svg"))
    for one in told:
        assert one in shown


def test_the_frontier_is_what_no_other_run_beats(tmp_path: Path) -> None:
    import numpy as np
    from matplotlib.axes import Axes

    drawn: list[Any] = []
    step = Axes.step

    def watched(self: Axes, x: Any, y: Any, **more: Any) -> Any:
        drawn.extend(zip(x, np.round(y, 1), strict=True))
        return step(self, x, y, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Axes, "step", watched)
        shown = texts(plot_costs([DEAR, POOR, MIDDLE, CHEAP], tmp_path / "figure.svg"))
    assert drawn == [(110.0, 20.0), (1_010.0, 40.0), (9_010.0, 50.0)]
    assert {"cheap", "middle", "dear", "poor"} <= set(shown.splitlines())
    assert "tokens per question, in and out" in shown


@pytest.mark.parametrize(
    ("draw", "told"),
    [
        (lambda to: plot_changes(BEFORE, AFTER, to / "x.jpg"), "a plot is written as"),
        (lambda to: plot_changes(BEFORE, AFTER, to / "x.svg", metric="beauty"), "not 'beauty': disambig_f1"),
        (lambda to: plot_changes(BEFORE, AFTER, to / "x.svg", metric="seconds"), "of which more is better"),
        (lambda to: plot_changes(BEFORE, run_of([record("other")]), to / "x.svg"), "no question in common"),
        (lambda to: plot_costs([CHEAP], to / "x"), "a plot is written as"),
        (lambda to: plot_costs([CHEAP], to / "x.svg", metric="tokens"), "not 'tokens': disambig_f1"),
        (lambda to: plot_costs([CHEAP], to / "x.svg", metric="g_f1"), "No run has the metric 'g_f1'"),
        (lambda to: plot_costs([BEFORE], to / "x.svg"), "the tokens that it took; scored outputs have none"),
        (
            lambda to: plot_costs(
                [
                    replace(CHEAP, settings=settings_of(5, questions="a (1)")),
                    replace(DEAR, settings=settings_of(5, questions="b (2)")),
                ],
                to / "x.svg",
            ),
            "are of different questions",
        ),
    ],
)
def test_mistakes_are_told_and_nothing_is_written(draw: Callable[[Path], Path], told: str, tmp_path: Path) -> None:
    with pytest.raises(PolyqaError, match=told):
        draw(tmp_path)
    assert list(tmp_path.iterdir()) == []
