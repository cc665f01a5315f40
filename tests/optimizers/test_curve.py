from pathlib import Path

import dspy
import pytest

from polyqa.embedded_models import Reader
from polyqa.metrics.gold import Question
from polyqa.metrics.optimizing import AnswerMetric
from polyqa.optimizers.curve import learning_curve, plot_curve
from polyqa.optimizers.recipes import recipe as recipe_by_name
from polyqa.signatures import PolyqaError


def test_a_curve_grows_with_the_examples_and_is_the_same_when_drawn_again(
    rac: dspy.Module, train: list[Question], dev: list[Question], embedded: dspy.LM, reader: Reader, tmp_path: Path
) -> None:
    def draw() -> tuple[list[int], list[float], list[float]]:
        curve = learning_curve(
            rac,
            train,
            dev,
            recipe_by_name("knn-bootstrap"),
            sizes=[4, 2],
            metric=AnswerMetric(reader),
            lm=embedded,
            work=tmp_path / "work",
            threads=2,
        )
        plot_curve(curve, tmp_path / "curve.svg", label="DR")
        return [size for size, _ in curve.points], [one.value for _, one in curve.points], list(curve.tries)

    sizes, values, tries = draw()
    assert sizes == [0, 2, 4]
    assert len(tries) == 4
    assert "<svg" in (tmp_path / "curve.svg").read_text()
    assert draw() == (sizes, values, tries)


@pytest.mark.parametrize("sizes", [[], [0], [7]])
def test_sizes_that_the_trainset_does_not_have_are_refused(
    rac: dspy.Module, train: list[Question], dev: list[Question], embedded: dspy.LM, tmp_path: Path, sizes: list[int]
) -> None:
    with pytest.raises(PolyqaError, match="between 1 and 6"):
        learning_curve(
            rac,
            train,
            dev,
            recipe_by_name("knn"),
            sizes=sizes,
            metric=AnswerMetric(Reader()),
            lm=embedded,
            work=tmp_path,
        )
