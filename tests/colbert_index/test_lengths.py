import warnings
from pathlib import Path

import pytest

from polyqa.base.values import Passage
from polyqa.colbert_index import add_passages, build_index

LONG = Passage(pid="long", text="The falcon flies over the cold sea. " * 40)
SHORT = Passage(pid="short", text="Owls hunt at night.")


@pytest.mark.parametrize("shards", [1, 2])
def test_passages_that_are_cut_are_told(tmp_path: Path, shards: int) -> None:
    told = r"1 of 2 passages are longer than the 180 tokens that ColBERT indexes: 1\d\d of 3\d\d tokens .* --split-long"
    with pytest.warns(UserWarning, match=told):
        index = build_index([LONG, SHORT], tmp_path / "index", shards=shards, progress=False)
    with pytest.warns(UserWarning, match=r"1 of 1 passage are longer"):
        add_passages(index, [LONG.model_copy(update={"pid": "again"})])


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("", "大桥于一九五七年建成，位于武汉，全长一千六百七十米。" * 20),  # no spaces
        ("", "0x7f4a9c " * 60),  # a word is many tokens
        ("The falcons of the northern sea and their nests. " * 20, "Short."),
        ("", "| bird | prey |\n" + "| owl | mouse |\n" * 60),
    ],
    ids=["Chinese", "numbers", "title", "table"],
)
def test_what_is_long_in_tokens_is_told(title: str, text: str, tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="1 of 2 passages are longer than the 180 tokens"):
        build_index([SHORT, Passage(pid="long", title=title, text=text)], tmp_path / "index", progress=False)


def test_passages_that_fit_are_no_matter(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        build_index([SHORT], tmp_path / "index", progress=False)
