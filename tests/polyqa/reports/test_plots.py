import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from harness import long_form, record, run_of

from polyqa.base.errors import PolyqaError
from polyqa.evaluation.identity import RunIdentity
from polyqa.evaluation.runs import Run
from polyqa.reports.plots import FORMATS, plot_changes, plot_runs

MAGIC = {".png": b"\x89PNG\r\n\x1a\n", ".svg": b"<?xml", ".pdf": b"%PDF-"}
GOOD = run_of(long_form(12, lambda at: at / 12), "good")
POOR = run_of(long_form(12, lambda at: at / 48), "poor")
BEFORE = run_of(long_form(12, lambda at: 0.4), "before")
AFTER = run_of(long_form(14, lambda at: 0.6 if at < 5 else 0.4 if at < 9 else 0.1), "after")

PART = run_of([record(one.id) if one.id in ("q5", "q6", "q7") else one for one in AFTER.records], "part")
"""Three of its questions have no value."""


def labels(svg: Path) -> list[str]:
    """Return the texts of a picture, which matplotlib keeps as comments, from top to bottom."""
    text = svg.read_text(encoding="utf-8")
    placed = re.findall(r"<!-- (.*?) -->\s*<g[^>]*transform=\"translate\(\S+ (\S+?)\)", text)
    return [label for label, _ in sorted(placed, key=lambda one: float(one[1]))]


def texts(svg: Path) -> str:
    """Return the texts of a picture, which matplotlib keeps as comments."""
    return "\n".join(re.findall(r"<!-- (.*?) -->", svg.read_text(encoding="utf-8"), re.DOTALL))


@pytest.mark.parametrize("suffix", [*FORMATS, ".PNG"])
@pytest.mark.parametrize("draw", [lambda to: plot_runs([GOOD, POOR], to), lambda to: plot_changes(BEFORE, AFTER, to)])
def test_pictures_are_pictures(draw: Callable[[Path], Path], suffix: str, tmp_path: Path) -> None:
    path = draw(tmp_path / "new" / f"figure{suffix}")
    assert path.read_bytes().startswith(MAGIC[suffix.lower()])
    assert path.stat().st_size > 5_000
    assert list(path.parent.iterdir()) == [path], "no draft is left"


def of(questions: str, name: str, n: int = 3) -> Run:
    """Return a run whose settings tell what it was asked."""
    run = run_of(long_form(n, lambda at: 0.3), name)
    return replace(run, settings=RunIdentity(program="rac", lm="lm", reader="reader", questions=questions, n=3))


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (of("homonyms/dev, 3 questions (aa11)", "other"), True),
        (of("copy.json, 3 questions (aa11)", "other"), True),
        (of("homonyms/dev, 3 questions (aa11)", "other", 2), True),  # not finished
        (of("homonyms/test, 3 questions (bb22)", "other"), False),
        (run_of(long_form(3, lambda at: 0.3), "other"), True),
        (run_of(long_form(4, lambda at: 0.3), "other"), False),
    ],
    ids=["same", "renamed", "unfinished", "another", "outputs", "more outputs"],
)
def test_different_questions_share_no_picture(other: Run, same: bool, tmp_path: Path) -> None:
    own, path = of("homonyms/dev, 3 questions (aa11)", "own"), tmp_path / "figure.svg"
    if not same:
        with pytest.raises(PolyqaError, match=r"own and other are of different questions .homonyms/dev"):
            plot_runs([own, other], path)
        assert not path.exists()
        return
    shown = labels(plot_runs([own, other], path))
    assert {f"own (n={len(own.records)})", f"other (n={len(other.records)})"} <= set(shown)


def test_the_best_is_on_top_whatever_is_best(tmp_path: Path) -> None:
    slow, fast = (run_of([record("q", seconds=s), record("r", seconds=s)], name) for s, name in ((9, "slow"), (1, "f")))
    shown = labels(plot_runs([slow, fast], tmp_path / "s.svg", metric="seconds"))
    assert shown.index("f (n=2)") < shown.index("slow (n=2)")
    shown = labels(plot_runs([POOR, GOOD], tmp_path / "dr.svg"))
    assert shown.index("good (n=12)") < shown.index("poor (n=12)")
    assert "DR" in shown


@pytest.mark.parametrize("n", [1, 3])
def test_a_run_of_few_or_equal_questions_is_drawn(n: int, tmp_path: Path) -> None:
    equal = run_of(long_form(n, lambda at: 0.1 + 0.2), "equal")
    shown = labels(plot_runs([equal], tmp_path / "figure.svg"))
    assert f"equal (n={n})" in shown
    assert "30.0" in shown
    assert not any("nan" in one for one in shown)


def test_runs_that_lack_the_metric_are_left_out_and_named(tmp_path: Path) -> None:
    other = run_of([record("q", {"f1_answer": 1.0})], "other")
    with pytest.warns(UserWarning, match=r"figure\.svg leaves out what has no DR: other\.$"):
        path = plot_runs([GOOD, other], tmp_path / "figure.svg")
    assert not any("other" in one for one in labels(path))
    with pytest.raises(PolyqaError, match="No run has the metric 'dr'"):
        plot_runs([other], tmp_path / "none.svg", metric="dr")


def test_runs_without_dr_are_drawn_by_the_metric_that_tells_most_of_them(tmp_path: Path) -> None:
    plain = run_of([record("q", {"f1_answer": 0.5, "str_em": 0.25})], "plain")
    assert "50.0" in labels(plot_runs([plain], tmp_path / "figure.svg"))


@pytest.mark.parametrize(
    ("runs", "told"),
    [
        ((BEFORE, AFTER), ("5 won", "4 drawn", "3 lost", "12 questions", "after", "before")),
        ((BEFORE, BEFORE), ("0 won", "12 drawn", "0 lost")),
        ((AFTER, BEFORE), ("3 won", "4 drawn", "5 lost")),
        ((run_of(long_form(1, lambda at: 0.2)), BEFORE), ("1 won", "0 drawn", "1 question,")),
        ((BEFORE, PART), ("5 won", "1 drawn", "3 lost", "9 questions")),
    ],
)
def test_wins_ties_and_losses_are_counted(runs: tuple[Run, Run], told: tuple[str, ...], tmp_path: Path) -> None:
    shown = texts(plot_changes(*runs, tmp_path / "figure.svg"))
    for one in told:
        assert one in shown


@pytest.mark.parametrize(
    ("draw", "told"),
    [
        (lambda to: plot_changes(BEFORE, AFTER, to / "x.jpg"), "x.jpg: a plot is written as .png, .svg, .pdf"),
        (lambda to: plot_changes(BEFORE, AFTER, to / "x.svg", metric="beauty"), "not 'beauty': disambig_f1"),
        (lambda to: plot_changes(BEFORE, AFTER, to / "x.svg", metric="seconds"), "of which more is better"),
        (lambda to: plot_changes(BEFORE, run_of([record("other")]), to / "x.svg"), "no question in common"),
        (
            lambda to: plot_changes(BEFORE, run_of([record("q0")]), to / "x.svg"),
            "in common that has a value of DR",
        ),
        (
            lambda to: plot_changes(BEFORE, run_of(long_form(1, lambda at: 0.4, question="Another?")), to / "x.svg"),
            "Question 'q0' differs between runs/before and runs/mine; these are different data sets",
        ),
        (lambda to: plot_runs([GOOD], to / "figure.jpg"), "figure.jpg: a plot is written as .png, .svg, .pdf"),
        (lambda to: plot_runs([GOOD], to / "figure.png", metric="g_f1"), "No run has the metric 'g_f1'"),
    ],
)
def test_what_cannot_be_drawn_is_told_before_anything_is_written(
    draw: Callable[[Path], Path], told: str, tmp_path: Path
) -> None:
    with pytest.raises(PolyqaError, match=re.escape(told)):
        draw(tmp_path)
    assert list(tmp_path.iterdir()) == []
