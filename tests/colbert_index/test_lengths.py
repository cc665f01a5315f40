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


def test_passages_that_fit_are_no_matter(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        build_index([SHORT], tmp_path / "index", progress=False)
