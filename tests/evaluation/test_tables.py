from math import sqrt

import pytest
from harness import FAILURE, long_form, record, run_of, settings_of, table_rows

from polyqa.evaluation.columns import COLUMNS
from polyqa.evaluation.comparison import compare_runs
from polyqa.evaluation.published import ASQA, Published
from polyqa.evaluation.runs import Run
from polyqa.evaluation.tables import DEFAULT, SHORT_FORM, comparison_tables, runs_table

EVERY = tuple(COLUMNS)


def well_formed(markdown: str) -> list[list[list[str]]]:
    """Return the tables, each with a line of dashes and as many cells in every row."""
    tables = table_rows(markdown)
    for table in tables:
        assert len({len(row) for row in table}) == 1, table
        assert all("|" not in cell for row in table for cell in row)
        assert set(table[1]) == {"---"}
        assert len(table) > 2
    return tables


RUN = run_of(long_form(12, lambda at: at / 12, input_tokens=12_345, seconds=0.126), "mine|yours", settings_of(12))
OTHER = run_of([record("q0", {"f1_answer": 0.5}), record("q1", error=FAILURE)], "other")


def test_runs_stand_one_to_a_row_with_intervals() -> None:
    (table,) = well_formed(runs_table([RUN, OTHER], EVERY))
    head, _, mine, other = table
    assert head[:3] == ["system", "LM", "n"]
    assert mine[:3] == ["mine/yours", "none", "12"]
    assert other[:3] == ["other", "–", "2"]
    cell = dict(zip(head, mine, strict=True))
    assert cell["STR-EM"].startswith("45.8 [")
    assert cell["tokens in"] == "12,345"
    assert cell["s"] == "0.13"
    assert dict(zip(head, other, strict=True))["DR"] == "–"


def test_a_column_that_nobody_has_is_left_out() -> None:
    (table,) = well_formed(runs_table([RUN], ["g_f1", "dr", "mrecall@5"]))
    assert table[0] == ["system", "LM", "n", "DR"]
    assert well_formed(runs_table([RUN], []))[0][0] == ["system", "LM", "n"]


def test_columns_keep_the_order_asked_for() -> None:
    assert well_formed(runs_table([RUN], ["str_em", "dr"]))[0][0][3:] == ["STR-EM", "DR"]


def test_the_notes_say_what_was_run_and_what_failed() -> None:
    text = runs_table([RUN, OTHER, run_of(RUN.records[:5], "half", settings_of(12, judge="J"))], DEFAULT)
    assert "- mine|yours: told, 12; reader embedded, judge none, index none.\n" in text
    assert "- other: outputs of another system; 1 of 2 failed.\n" in text
    assert "- half: told, 12; reader embedded, judge J, index none; not finished, 5 of 12 questions.\n" in text
    assert "From the papers" not in text


def test_a_single_question_has_a_figure_without_an_interval() -> None:
    one = run_of(RUN.records[3:4], "one")
    (table,) = well_formed(runs_table([one], ["str_em"]))
    assert table[2][3] == "25.0"
    assert "nan" not in runs_table([one], EVERY)
    assert "nan" not in comparison_tables(compare_runs(one, one))


def test_published_rows_come_last_and_only_those_that_share_a_column() -> None:
    (table,) = well_formed(runs_table([RUN], (*DEFAULT, *SHORT_FORM), ASQA))
    names = [row[0] for row in table[2:]]
    assert names[0] == "mine/yours"
    assert all(name.startswith("*") and name.endswith("*") for name in names[1:])
    assert "*human*" in names
    human = dict(zip(table[0], table[2 + names.index("*human*")], strict=True))
    assert (human["DR"], human["R-L"], human["n"]) == ("61.8", "49.4", "948")
    assert human["calls"] == "–"
    text = runs_table([RUN], ["str_em"], ASQA)
    assert "VERDICT" not in text
    assert "JPR" in text
    assert "Not made with our reader or corpus" in text


def test_nothing_published_is_shown_unasked() -> None:
    text = runs_table([RUN], DEFAULT)
    assert not any(one.system in text for one in ASQA if one.system not in ("RAC", "DIVA"))
    assert "papers" not in text


def test_a_comparison_has_a_table_of_metrics_and_the_breakdowns() -> None:
    kinds = ["time", "place"] * 6

    def run(name: str, extra: float) -> Run:
        records = long_form(12, lambda at: at / 24 + extra)
        return run_of([one.model_copy(update={"ambiguity": kinds[at]}) for at, one in enumerate(records)], name)

    a, b = run("old|one", 0.0), run("new", 0.25)
    text = comparison_tables(compare_runs(a, b))
    metrics, by_ambiguity, by_readings = well_formed(text)
    assert metrics[0] == ["metric", "n", "old/one", "new", "difference", "p", "win / tie / loss"]
    rows = {row[0]: row for row in metrics[2:]}
    assert rows["STR-EM"][1:4] == ["12", "22.9", "47.9"]
    assert rows["STR-EM"][4].startswith("+25.0 [+25.0, ")
    assert rows["STR-EM"][5:] == ["<0.001", "12 / 0 / 0"]
    assert rows["calls"][6] == "0 / 12 / 0"
    assert [row[0] for row in by_ambiguity] == ["ambiguity", "---", "place", "time"]
    assert [row[:2] for row in by_readings[2:]] == [["2", "12"]]
    assert "DR by ambiguity:" in text
    assert "12 questions in both." in text


def test_questions_without_a_partner_are_mentioned() -> None:
    a, b = run_of(RUN.records[:8], "a"), run_of(RUN.records[2:], "b")
    assert "6 questions in both (only in a: 2) (only in b: 4)." in comparison_tables(compare_runs(a, b))


def test_what_is_neither_better_nor_worse_has_no_wins() -> None:
    records = [record(f"q{at}", {"length": float(at)}) for at in range(3)]
    (table, *_) = well_formed(comparison_tables(compare_runs(run_of(records), run_of(records), headline="length")))
    assert {row[0]: row[6] for row in table}["LEN"] == "–"


@pytest.mark.parametrize("row", ASQA, ids=lambda row: f"{row.system}, {row.lm}")
def test_published_rows_agree_with_themselves(row: Published) -> None:
    """A figure that was copied wrongly would hardly still fit its neighbours."""
    metrics = row.metrics
    assert metrics.keys() <= COLUMNS.keys()
    assert all(0 < value <= 100 for value in metrics.values())
    if "dr" in metrics:
        assert metrics["dr"] == pytest.approx(sqrt(metrics["rouge_l"] * metrics["disambig_f1"]), abs=0.11)
    if "g_f1" in metrics:
        p, r = metrics["g_precision"], metrics["g_recall"]
        assert metrics["g_f1"] == pytest.approx(2 * p * r / (p + r), abs=0.02)
