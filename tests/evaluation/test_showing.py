"""What runs and comparisons show of themselves."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from attack_texts import ATTACKS
from harness import long_form, record, run_of, settings_of, strict_json, table_rows
from well_formed_html import read_html

from polyqa.base.html import plain
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
    page = read_html(RUN._repr_html_())
    cells = [cell.text for cell in page.named("td")]
    for name in ("told", "homonyms", "D-F1", "STR-EM", "calls"):
        assert name in cells
    assert cells[cells.index("STR-EM") + 1].startswith("45.8 [")
    assert cells[cells.index("STR-EM") + 2] == "12"
    assert page.named("details") == []


def test_the_first_failures_are_shown() -> None:
    page = read_html(failing("Who?")._repr_html_())
    (details,) = page.named("details")
    assert details.text.startswith("7 failed, the first 5")
    assert details.text.count("ValueError: Who?") == 5


def test_outputs_of_another_system_say_so() -> None:
    bare = run_of(RUN.records, "other")
    assert "outputs of another system" in read_html(bare._repr_html_()).text
    assert bare.to_dict()["settings"] is None


def test_a_run_as_data_is_its_summary(tmp_path: Path) -> None:
    write_summary(replace(RUN, path=tmp_path))
    summary = strict_json((tmp_path / SUMMARY).read_text(encoding="utf-8"))
    assert strict_json(json.dumps(RUN.to_dict())) == {"name": "mine", **summary}


def test_a_run_is_a_row_in_markdown() -> None:
    ((head, _, row),) = table_rows(RUN.to_markdown())
    assert dict(zip(head, row, strict=True))["STR-EM"].startswith("45.8 [")


def test_a_comparison_shows_what_its_tables_show() -> None:
    comparison = compared()
    page = read_html(comparison._repr_html_())
    rows = [cell for table in table_rows(comparison.to_markdown()) for row in table[2:] for cell in row]
    assert [cell.text for cell in page.named("td")] == rows
    assert "The reader differs" in page.text


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_a_strangers_text_does_not_act(attack: str) -> None:
    page = read_html(failing(attack)._repr_html_())
    assert page.text.count(plain(attack)) >= (10 if plain(attack) else 0)
    if "\n" not in attack:  # names of folders
        assert plain(attack) in read_html(compared(attack)._repr_html_()).text


@pytest.mark.parametrize("text", ["x" * 5_000, "\x1b[31mred", "mine"])
def test_reprs_are_short(text: str) -> None:
    for told in (repr(failing(text)), repr(compared(text))):
        assert len(told) < 500
        assert told.isprintable()


def test_reprs_say_what_it_is() -> None:
    assert repr(RUN) == "Run('runs/mine', program='told', lm='none', 12 questions, 0 failed)"
    assert repr(compared()).startswith("Comparison('theirs' against 'mine', 12 questions, DR -")
