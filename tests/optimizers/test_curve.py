from collections.abc import Callable
from pathlib import Path

import dspy
import pytest

from polyqa.optimizers import Plan
from polyqa.optimizers.curve import learning_curve, plot_curve
from polyqa.signatures import PolyqaError


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


@pytest.mark.parametrize("sizes", [[], [0], [7]])
def test_sizes_that_the_trainset_does_not_have_are_refused(
    rac: dspy.Module, plan: Callable[..., Plan], tmp_path: Path, sizes: list[int]
) -> None:
    with pytest.raises(PolyqaError, match="between 1 and 6"):
        learning_curve(rac, plan("knn"), sizes=sizes, work=tmp_path)
