from collections.abc import Callable

import pytest
from harness import FAILURE, long_form, record, run_of, settings_of, table_rows

from polyqa.evaluation.columns import COLUMNS
from polyqa.evaluation.comparison import compare_runs
from polyqa.evaluation.runs import Run
from polyqa.evaluation.tables import DEFAULT, comparison_tables, outcome, runs_table

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
SAME = run_of(OTHER.records, "same", settings_of(12))


def test_runs_stand_one_to_a_row_with_intervals() -> None:
    (table,) = well_formed(runs_table([RUN, SAME], EVERY))
    head, _, mine, other = table
    assert head[:3] == ["system", "LM", "n"]
    assert mine[:3] == ["mine/yours", "none", "12"]
    assert other[:3] == ["same", "none", "2"]
    cell = dict(zip(head, mine, strict=True))
    assert cell["STR-EM"].startswith("45.8 [")
    assert cell["tokens in"] == "12,345"
    assert cell["s"] == "0.13"
    assert dict(zip(head, other, strict=True))["DR"] == "–"


def test_runs_of_other_questions_stand_in_another_table() -> None:
    text = runs_table([RUN, OTHER, SAME], ["f1_answer", "dr"])
    ours, others = well_formed(text)
    assert [row[0] for row in ours[2:]] == ["mine/yours", "same"]
    assert [row[0] for row in others[2:]] == ["other"]
    assert text.index("On 12:") < text.index("On the questions of other:")
    assert "On " not in runs_table([RUN, SAME], DEFAULT)
    splits = [
        run_of(RUN.records, split, settings_of(12, questions=f"q.json ({split}), 12 questions ({split}0)"))
        for split in ("train", "dev")
    ]
    assert [f"On q.json ({split}), 12 questions:" in runs_table(splits, DEFAULT) for split in ("train", "dev")] == [
        True,
        True,
    ]


@pytest.mark.parametrize(
    ("asked", "shown"),
    [(["g_f1", "dr", "mrecall@5"], ["DR"]), ([], []), (["str_em", "dr"], ["STR-EM", "DR"])],
)
def test_columns_stand_as_asked_for_but_those_that_nobody_has(asked: list[str], shown: list[str]) -> None:
    (table,) = well_formed(runs_table([RUN], asked))
    assert table[0] == ["system", "LM", "n", *shown]


def test_the_notes_say_what_was_run_and_what_failed() -> None:
    text = runs_table([RUN, OTHER, run_of(RUN.records[:5], "half", settings_of(12, judge="J"))], DEFAULT)
    assert "- mine|yours: told, 12 (4a0f); reader embedded, judge none, index none.\n" in text
    assert "- other: outputs of another system; 1 of 2 failed.\n" in text
    assert "- half: told, 12 (4a0f); reader embedded, judge J, index none; not finished, 5 of 12 questions.\n" in text


def test_a_single_question_has_a_figure_without_an_interval() -> None:
    one = run_of(RUN.records[3:4], "one")
    (table,) = well_formed(runs_table([one], ["str_em"]))
    assert table[2][3] == "25.0"
    assert "nan" not in runs_table([one], EVERY)
    assert "nan" not in comparison_tables(compare_runs(one, one))


def test_a_comparison_has_a_table_of_metrics_and_the_breakdowns() -> None:
    kinds = ["time", "place"] * 6

    def run(name: str, extra: float) -> Run:
        records = long_form(12, lambda at: at / 24 + extra)
        return run_of([one.model_copy(update={"ambiguity": kinds[at]}) for at, one in enumerate(records)], name)

    a, b = run("old|one", 0.0), run("new", 0.25)
    text = comparison_tables(compare_runs(a, b))
    metrics, by_ambiguity, by_readings = well_formed(text)
    assert metrics[0] == ["metric", "n", "A", "B", "difference", "p", "win / tie / loss"]
    rows = {row[0]: row for row in metrics[2:]}
    assert rows["STR-EM"][1:4] == ["12", "22.9", "47.9"]
    assert rows["STR-EM"][4].startswith("+25.0 [+25.0, ")
    assert rows["STR-EM"][5:] == ["<0.001", "12 / 0 / 0"]
    assert rows["calls"][6] == "0 / 12 / 0"
    assert [row[0] for row in by_ambiguity] == ["ambiguity", "---", "place", "time"]
    assert [row[:2] for row in by_readings[2:]] == [["2", "12"]]
    assert "DR by ambiguity:" in text
    assert text.startswith("A: old|one\nB: new\n12 questions in both.\n\nB is better in DR: 22.9 → 47.9, +25.0 [+25.0")
    assert ", p < 0.001" in text.split("\n\n")[1]


def test_questions_without_a_partner_are_mentioned() -> None:
    a, b = run_of(RUN.records[:8], "a"), run_of(RUN.records[2:], "b")
    assert "6 questions in both (only in A: 2) (only in B: 4)." in comparison_tables(compare_runs(a, b))


def test_what_is_neither_better_nor_worse_has_no_wins() -> None:
    records = [record(f"q{at}", {"length": float(at)}) for at in range(3)]
    (table, *_) = well_formed(comparison_tables(compare_runs(run_of(records), run_of(records), headline="length")))
    assert {row[0]: row[6] for row in table}["LEN"] == "–"


def calls(run: Run, count: int) -> Run:
    return run_of([one.model_copy(update={"calls": count}) for one in run.records], run.name)


@pytest.mark.parametrize(
    ("shift", "more", "said"),
    [
        (lambda at: 0.0, 0, "No difference in DR: 22.9."),
        (lambda at: 0.0, 3, "No difference in DR: 22.9; B makes 3.0 calls more a question."),
        (lambda at: -0.01, -1, "B is worse in DR: 22.9 → 21.9"),
        (lambda at: 0.2 * (-1) ** at, 0, "Which is better in DR cannot be told with 12 questions: 22.9 → 22.9"),
        (lambda at: 0.0001 * at, 0, "Which is better in DR cannot be told with 12 questions: 22.9 → 23.0"),
    ],
)
def test_a_comparison_begins_with_what_comes_of_it(shift: Callable[[int], float], more: int, said: str) -> None:
    a = calls(run_of(long_form(12, lambda at: at / 24), "a"), 4)
    b = calls(run_of(long_form(12, lambda at: at / 24 + shift(at)), "b"), 4 + more)
    comparison = compare_runs(a, b)
    assert said in outcome(comparison)
    assert comparison_tables(comparison).split("\n\n")[1] == outcome(comparison)


def test_calls_that_come_to_the_same_are_not_told() -> None:
    a, b = (
        run_of([one.model_copy(update={"calls": own}) for one, own in zip(RUN.records, counts, strict=True)])
        for counts in ([1, 2] * 6, [2, 1] * 6)
    )
    assert outcome(compare_runs(a, b)) == "No difference in DR: 45.8."


def test_five_questions_do_not_tell_which_is_better() -> None:
    for count, said in ((5, "Which is better in DR cannot be told with 5 questions"), (6, "B is better in DR")):
        a, b = (run_of(long_form(count, lambda at, more=more: at / 24 + more)) for more in (0.0, 0.2))
        assert outcome(compare_runs(a, b)).startswith(said)


def test_what_is_equal_is_left_out_unless_everything_is_asked_for() -> None:
    a = calls(run_of(long_form(12, lambda at: at / 24), "a"), 4)
    comparison = compare_runs(a, calls(a, 5))
    text = comparison_tables(comparison, everything=False)
    (table,) = well_formed(text)
    assert [row[0] for row in table[2:]] == ["DR", "calls"], "the headline stays"
    every, *_ = well_formed(comparison_tables(comparison))
    assert f"The other {len(every) - 4} metrics are equal; --all shows them." in text
    took = ("calls", "input_tokens", "output_tokens", "seconds")
    a, b = (run_of([record("q", {"str_em": 0.5}, **dict.fromkeys(took, count))]) for count in (1, 2))
    assert "The other metric is equal; --all shows it." in comparison_tables(compare_runs(a, b), everything=False)


@pytest.mark.parametrize(
    ("metric", "said"),
    [("seconds", "B is worse in s: 0.5 → 1.2, +0.7"), ("length", "B is higher in LEN: 20.0 → 40.0, +20.0")],
)
def test_amounts_are_no_points_of_per_cent(metric: str, said: str) -> None:
    """Seven tenths of a second are more than nothing, and a longer answer is no better one."""
    a, b = (
        run_of([record(f"q{at}", {"length": length}, seconds=seconds) for at in range(30)], name)
        for name, length, seconds in (("a", 20.0, 0.5), ("b", 40.0, 1.2))
    )
    assert outcome(compare_runs(a, b, headline=metric)).startswith(said)
