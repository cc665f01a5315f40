import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import dspy
import pytest

from polyqa.base.errors import PolyqaError
from polyqa.evaluation.statistics import Estimate
from polyqa.optimizers import Plan, recipe
from polyqa.optimizers.curve import Curve, learning_curve, why_no_tries
from polyqa.reports.compilation_plots import plot_curve


@pytest.mark.slow
def test_a_curve_grows_with_the_examples_and_is_the_same_when_drawn_again(
    rac: dspy.Module, plan: Callable[..., Plan], tmp_path: Path
) -> None:
    def draw() -> tuple[list[int], list[float], list[float]]:
        curve = learning_curve(rac, plan("knn-bootstrap"), sizes=[4, 2], work=tmp_path / "work")
        plot_curve(curve, tmp_path / "curve.svg")
        return [size for size, _ in curve.points], [one.value for _, one in curve.points], list(curve.tries)

    sizes, values, tries = draw()
    assert sizes == [0, 2, 4]
    assert len(tries) == 4
    text = (tmp_path / "curve.svg").read_text()
    assert "<svg" in text
    assert "DR on dev" in text
    assert draw() == (sizes, values, tries)


def shown(path: Path) -> str:
    """Return the texts of an SVG picture: matplotlib writes each as a comment, too."""
    return " ".join(re.findall(r"<!-- (.*?) -->", path.read_text(), re.DOTALL))


@pytest.mark.parametrize("number", [1, 4, 50])
def test_every_call_of_the_metric_is_drawn(number: int, tmp_path: Path) -> None:
    """A mean of twenty calls alone would draw nothing for twenty calls and fewer."""
    points = [(0, Estimate(1.0, 0.5, 1.5, 3)), (2, Estimate(2.0, 0.5, 2.5, 3))]
    curve = Curve("dr", points, [float(i) for i in range(number)], title="RAC, knn-bootstrap")
    svg = plot_curve(curve, tmp_path / "curve.svg").read_text()
    dots = [group.count("<use ") for group in re.findall(r'<g clip-path="[^"]*">\s*((?:<use [^>]*/>\s*)+)', svg)]
    assert dots[-2:] == [2, number]
    assert "RAC, knn-bootstrap" in shown(tmp_path / "curve.svg")
    assert f"mean of the last {min(number, 20)}" in shown(tmp_path / "curve.svg")


@pytest.mark.parametrize(
    ("name", "told"),
    [("knn", "knn takes its demos from the reference answers"), ("gepa-then-knn", "scores by feedback in words")],
)
def test_an_empty_panel_says_why(name: str, told: str, tmp_path: Path) -> None:
    curve = Curve("dr", [(0, Estimate(1.0, 0.5, 1.5, 3))], [], no_tries=why_no_tries(recipe(name)))
    plot_curve(curve, tmp_path / "curve.svg")
    assert told in shown(tmp_path / "curve.svg")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"recipe": recipe("labeled-few-shot")}, "recipe was knn, is labeled-few-shot"),
        ({"seed": 3}, "seed was 0, is 3"),
    ],
)
def test_the_folder_of_another_curve_is_refused_before_anything_is_compiled(
    rac: dspy.Module, plan: Callable[..., Plan], tmp_path: Path, changes: dict[str, Any], told: str
) -> None:
    learning_curve(rac, plan("knn"), sizes=[2], work=tmp_path)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(PolyqaError, match=f"of another curve: {told}. Remove it"):
        learning_curve(rac, replace(plan("knn"), **changes), sizes=[3, 2], work=tmp_path)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("sizes", [[], [0], [7]])
def test_sizes_that_the_trainset_does_not_have_are_refused(
    rac: dspy.Module, plan: Callable[..., Plan], tmp_path: Path, sizes: list[int]
) -> None:
    with pytest.raises(PolyqaError, match="between 1 and 6"):
        learning_curve(rac, plan("knn"), sizes=sizes, work=tmp_path)
