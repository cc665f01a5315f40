import json

import pytest
from harness import FAILURE, long_form, record, run_of, settings_of

from polyqa.base.errors import PolyqaError
from polyqa.evaluation.comparison import HEADLINE, Comparison, compare_runs, difference_in
from polyqa.evaluation.identity import RunIdentity
from polyqa.evaluation.records import Record
from polyqa.evaluation.runs import Run
from polyqa.evaluation.tables import comparison_tables


def pair(n: int = 30, **fields: object) -> tuple[Run, Run]:
    """Return a run, and one that is better on every question but the last."""
    worse = long_form(n, lambda at: 0.3 + at / 100, **fields)
    better = long_form(n, lambda at: 0.3 + at / 100 + (0.1 if at < n - 1 else 0.0), **fields)
    return run_of(worse, "a"), run_of(better, "b")


def test_questions_are_paired_by_id_in_whatever_order() -> None:
    a, b = pair()
    one = compare_runs(a, run_of(list(b.records)[::-1], "b"))
    assert (one.a, one.b, one.n, one.only_a, one.only_b) == ("a", "b", 30, 0, 0)
    assert one.metrics["str_em"].difference == pytest.approx(10 * 29 / 30)
    assert (one.metrics["str_em"].wins, one.metrics["str_em"].ties, one.metrics["str_em"].losses) == (29, 1, 0)
    assert one.metrics["dr"].p < 0.001
    assert one.headline == HEADLINE[0] == "dr"


def test_questions_without_a_partner_are_counted_and_left_out() -> None:
    a, b = pair()
    one = compare_runs(run_of(a.records[:20], "a"), run_of(b.records[5:], "b"))
    assert (one.n, one.only_a, one.only_b) == (15, 5, 10)
    assert one.metrics["str_em"].n == 15


def test_one_metric_alone_comes_to_the_same() -> None:
    a, b = pair()
    for metric in ("dr", "str_em"):
        assert difference_in(a, b, metric) == compare_runs(a, b).metrics[metric]
    with pytest.raises(PolyqaError, match="no metric 'g_f1' in both runs"):
        difference_in(a, b, "g_f1")


def test_the_same_run_is_no_better_than_itself() -> None:
    a, _ = pair()
    one = compare_runs(a, a)
    assert {(own.difference, own.p, own.wins, own.losses) for own in one.metrics.values()} == {(0.0, 1.0, 0, 0)}


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (record("y"), "runs/a and runs/b have no question in common"),
        (record("x", question="Another?"), "Question 'x' differs between runs/a and runs/b"),
    ],
)
def test_runs_over_other_questions_are_not_compared(other: Record, told: str) -> None:
    with pytest.raises(PolyqaError, match=told):
        compare_runs(run_of([record("x")], "a"), run_of([other], "b"))


@pytest.mark.parametrize("name", ["nonsense", "g_f1"])
def test_a_metric_that_they_do_not_have_is_an_error_that_lists_those_they_have(name: str) -> None:
    with pytest.raises(PolyqaError, match=rf"no metric '{name}' in both runs; there are disambig_f1, .*dr"):
        compare_runs(*pair(), headline=name)


def test_the_headline_falls_back_to_what_both_have() -> None:
    short = [run_of([record(f"q{at}", {"f1_answer": 0.5}) for at in range(3)], name) for name in "ab"]
    assert compare_runs(*short).headline == "f1_answer"
    bare = [run_of([record("q")], name) for name in "ab"]
    assert compare_runs(*bare).headline in compare_runs(*bare).metrics
    assert compare_runs(*pair(), headline="str_em").headline == "str_em"


def test_groups_are_by_ambiguity_and_by_number_of_readings_in_order() -> None:
    kinds = ["subject"] * 4 + ["time"] * 3 + ["place"] + [None] * 3
    readings = [1, 2, 10, 10, 2, 1, 1, 2, 10, 10, 11]

    def run(name: str, extra: float) -> Run:
        scores = long_form(11, lambda at: 0.5 + extra)
        given = zip(scores, kinds, readings, strict=True)
        return run_of([one.model_copy(update={"ambiguity": k, "gold_readings": n}) for one, k, n in given], name)

    one = compare_runs(run("a", 0.0), run("b", 0.1))
    assert {name: own.n for name, own in one.by_ambiguity.items()} == {"subject": 4, "time": 3}, "one is no group"
    assert [(name, own.n) for name, own in one.by_readings.items()] == [("1", 3), ("2", 3), ("10", 4)]
    assert all(own.difference == pytest.approx(10) for own in one.by_ambiguity.values())


def test_a_group_that_failed_altogether_is_not_dropped() -> None:
    """Its answered neighbours have the score, so it scores 0."""
    scores = {"mrecall@5": 1.0}
    a = [record(f"q{at}", scores, ambiguity="time" if at < 2 else "place") for at in range(4)]
    b = [one.model_copy(update={"scores": {}, "error": FAILURE}) if at < 2 else one for at, one in enumerate(a)]
    one = compare_runs(run_of(a, "a"), run_of(b, "b"), headline="mrecall@5")
    assert (one.by_ambiguity["time"].a, one.by_ambiguity["time"].b, one.by_ambiguity["time"].losses) == (100, 0, 2)
    assert one.metrics["mrecall@5"].n == 4


def test_a_run_that_failed_altogether_loses() -> None:
    a, b = pair(4)
    zero = dict.fromkeys(("disambig_f1", "rouge_l", "str_em"), 0.0)
    failed = run_of([one.model_copy(update={"scores": zero, "error": FAILURE}) for one in b.records], "b")
    assert compare_runs(a, failed).metrics["str_em"].b == 0.0
    assert compare_runs(a, failed).metrics["failed"].losses == 4


def test_failures_are_told_where_both_runs_have_the_same() -> None:
    records = [*long_form(3, lambda at: at / 3), record("q3", error=FAILURE)]
    told = compare_runs(run_of(records, "a", settings_of(4)), run_of(records, "b", settings_of(4))).cautions
    assert told == [f"{name}: 1 of 4 questions failed; these score as empty answers." for name in "ab"]


def test_a_comparison_is_json_even_with_a_single_question() -> None:
    a, b = pair(2)
    one: Comparison = compare_runs(run_of(a.records[:1], "a"), run_of(b.records[:1], "b"))
    data = json.loads(json.dumps(one.to_dict(), allow_nan=False))
    assert data["metrics"]["str_em"]["low"] is None
    assert data["metrics"]["str_em"]["difference"] == pytest.approx(10)
    assert (data["n"], data["headline"], data["by_readings"]) == (1, "dr", {})
    assert data["metrics"].keys() == one.metrics.keys()


def _made_with(run: Run, **settings: str | None) -> Run:
    usual = {"questions": "q", "reader": "r", "judge": "j", "index": "i"}
    made = RunIdentity(program="rac", lm="x", n=1, **usual | settings)
    return Run(run.path, made, run.records)


def test_it_says_why_figures_do_not_compare() -> None:
    a, b = pair()
    alike = compare_runs(_made_with(a), _made_with(b))
    assert alike.cautions == []
    assert "Careful" not in comparison_tables(alike)
    other = compare_runs(_made_with(a), _made_with(b, reader="roberta", judge=None, index="bigger"))
    assert len(other.cautions) == 3
    assert "The reader differs (r; roberta): D-F1 and DR do not compare." in comparison_tables(other)
    (cut,) = compare_runs(_made_with(a), _made_with(b, reader="r, ALCE's cut")).cautions
    assert cut == "The reader differs (r; r, ALCE's cut): D-F1, R-L, DR, STR-EM, LEN and EM do not compare."
    gold = compare_runs(_made_with(a, questions="mine.json (aa11)"), _made_with(b, questions="mine.json (bb22)"))
    assert "the gold answers or the order differ: scores may not compare." in comparison_tables(gold)
    fewer = Run(b.path, b.settings, b.records[:-1])
    assert compare_runs(_made_with(a, questions="(aa11)"), _made_with(fewer, questions="(bb22)")).cautions == []
    closed_book = compare_runs(_made_with(a, index=None), _made_with(b))
    assert closed_book.cautions == []  # a program without an index may be held against one with
    theirs = Run(b.path, None, b.records)
    assert "outputs of another system" in comparison_tables(compare_runs(_made_with(a), theirs))
