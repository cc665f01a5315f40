"""Rows of training data in files, and questions that stay out."""

import json
from pathlib import Path

import pytest

from lab.training.passages import Read
from lab.training.rows import held_out, not_held, read_rows, write_rows
from lab.training.squad import Example
from polyqa.base.errors import PolyqaError


def test_rows_come_back_as_they_were_written(tmp_path: Path) -> None:
    rows = [Read("Wer war’s?", "", "Es war 1912.", ["1912"], "here", 2.0), Read("Who?", "A", "B", [], "here")]
    write_rows(tmp_path / "rows.jsonl", rows)
    assert read_rows(tmp_path / "rows.jsonl", Read, "examples", "maker") == rows


@pytest.mark.parametrize("content", ["", "no JSON", '{"question": "Who?"}'])
def test_a_file_without_rows_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(content)
    with pytest.raises(PolyqaError, match="examples"):
        read_rows(file, Read, "examples", "maker")


def test_who_holds_a_question_out_holds_its_readings_out_and_the_passages_that_were_found_for_it(
    tmp_path: Path,
) -> None:
    pairs = [{"question": f"Who wrote the {kind}?", "short_answers": ["Ann"]} for kind in ("book", "song")]
    held = tmp_path / "held.json"
    held.write_text(json.dumps({"dev": {"1": {"ambiguous_question": "Who wrote it?", "qa_pairs": pairs}}}))
    asked = [
        ("Who wrote the book?", ""),
        ("who wrote it", ""),
        ("Who sang it in 1970?", "Who wrote it?"),
        ("Who?", "Book"),
    ]
    examples = [Example(str(at), question, "By Ann.", (), "a", title) for at, (question, title) in enumerate(asked)]
    assert not_held(examples, held_out([str(held)])) == examples[3:]
