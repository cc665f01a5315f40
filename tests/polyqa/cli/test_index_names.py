from collections.abc import Callable
from pathlib import Path

import pytest

from polyqa.cli.index import _name_of
from polyqa.colbert_index.store import index_path


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("my corpus.tsv", "my-corpus"),
        ("Handbuch für Käufer (2024).pdf", "Handbuch-f-r-K-ufer-2024"),
        ("psgs_w100.tsv.gz", "psgs_w100"),
        ("données.JSONL", "donn-es"),
        ("中文.jsonl", "index"),
        (".hidden", "hidden"),
        ("a folder", "a-folder"),
        ("docs@dev", "docs-dev"),
        ("wiki.abstracts.2017.jsonl", "wiki.abstracts.2017"),
    ],
)
def test_an_index_gets_a_name_that_is_allowed(file: str, name: str, tmp_path: Path) -> None:
    assert _name_of(tmp_path / file) == name
    assert index_path(name).name == name


def test_an_index_that_is_not_there_names_those_that_are(refused: Callable[..., str]) -> None:
    told = refused("ask", "Who founded Rome?", "--index", "homonym")
    assert "These are there: " in told
    assert "homonyms" in told
