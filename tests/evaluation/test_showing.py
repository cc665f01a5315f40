"""What runs and comparisons show of themselves."""

import html
import json
from dataclasses import replace
from pathlib import Path

import pytest
from harness import long_form, record, run_of, settings_of, strict_json, table_rows

from polyqa.base.work import Failure
from polyqa.evaluation.comparison import Comparison, compare_runs
from polyqa.evaluation.runs import SUMMARY, Run, write_summary

RUN = run_of(long_form(12, lambda at: at / 12), "mine", settings_of(12, index="homonyms"))


def failing(text: str, n: int = 7) -> Run:
    """Return a run named after a text that also stands in its questions and errors."""
    failed = [record(f"f{at}", question=text, error=Failure(kind="ValueError", message=text)) for at in range(n)]
    return run_of(
        [*long_form(4, lambda at: at / 4), *failed], text, settings_of(11, program=text, lm=text, questions=text)
    )


def compared(text: str = "theirs") -> Comparison:
    return compare_runs(RUN, run_of(long_form(12, lambda at: at / 24), text, settings_of(12, reader=text)))


def test_a_run_shows_every_value_and_what_was_run() -> None:
    ((head, _, *rows),) = table_rows(RUN.to_markdown())
    assert head[:2] == ["metric", "value"]
    assert {"D-F1", "STR-EM", "calls"} <= {row[0] for row in rows}
    assert ["STR-EM", "45.8 [29.9, 61.8]", "share of the gold answers in the text"] in rows
    assert RUN.to_markdown().startswith(f"mine: DR {rows[0][1]} on 12 questions\n")
    assert "- mine: told, " in RUN.to_markdown()
    few = run_of([*RUN.records[:4], record("q", {"str_em": 1.0})], "few").to_markdown()
    assert "| how well the text answers each reading (of 4) |" in few


def test_a_run_as_data_is_its_summary(tmp_path: Path) -> None:
    write_summary(replace(RUN, path=tmp_path))
    summary = strict_json((tmp_path / SUMMARY).read_text(encoding="utf-8"))
    assert strict_json(json.dumps(RUN.to_dict())) == {"name": "mine", **summary}


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "a < b"])
def test_a_strangers_text_is_no_markup_in_a_notebook(text: str) -> None:
    for shown in (failing(text), compared(text)):
        assert html.unescape(shown._repr_markdown_()) == shown.to_markdown()
        assert "<" not in shown._repr_markdown_()


@pytest.mark.parametrize("text", ["x" * 5_000, "\x1b[31mred", "mine"])
def test_reprs_are_short(text: str) -> None:
    for told in (repr(failing(text)), repr(compared(text))):
        assert len(told) < 500
        assert told.isprintable()


def test_reprs_say_what_it_is() -> None:
    assert repr(RUN) == "Run('runs/mine', program='told', lm='none', 12 questions, 0 failed)"
    assert repr(compared()).startswith("Comparison('theirs' against 'mine', 12 questions, DR -")
