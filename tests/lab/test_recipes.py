"""README's picture of what recipes brought."""

import pytest

from lab import recipes
from lab.results import Measured, Table

HEADS = ["compiled by", "n", "DR", "gain", "p", "F1 of answers", "gain", "p", "tokens in", "tokens out"]


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def row(label: str, dr: str, read: str, written: str) -> list[str]:
        return [label, "72", dr, "–", "–", "–", "–", "–", read, written]

    table = Table(
        heads=HEADS,
        rows=[
            row("the plain prompt", "1.5 [0.3, 2.8]", "–", "–"),
            row("`labeled-few-shot`, on two cores", "59.0 [52.4, 65.4]", "1,000", "–"),
            row("the same on the GPU", "58.8 [52.2, 65.2]", "175,676", "42,347"),
            row("the same, seed 1", "55.0 [50.0, 60.0]", "150,000", "50,000"),
            row("`knn`", "55.2 [47.0, 63.3]", "1,000,000", "500,000"),
        ],
    )
    stored = Measured(about="", command=None, tables={"gains": table})
    monkeypatch.setattr(recipes, "read_measured", lambda name: stored)


@pytest.mark.usefixtures("rows")
def test_a_point_is_a_row_whose_tokens_are_known() -> None:
    assert recipes.gains() == (
        1.5,
        [("labeled-few-shot", 0.218023, 58.8), ("labeled-few-shot", 0.2, 55.0), ("knn", 1.5, 55.2)],
    )


@pytest.mark.usefixtures("rows")
def test_the_picture_names_each_recipe_and_is_drawn_alike_twice() -> None:
    drawn = recipes.picture()
    assert drawn == recipes.picture()
    assert all(drawn.count(f">{words}<") == 1 for words in ("labeled-few-shot", "knn", "without demos"))
