from math import nan

import pytest
from harness import record, run_of

from polyqa.evaluation.runs import Run
from polyqa.evaluation.statistics import Difference
from polyqa.evaluation.verdicts import verdict, won_and_lost


def difference(low: float, high: float, n: int = 30, p: float = 0.5) -> Difference:
    change = (low + high) / 2
    return Difference(60, 60 + change, change, low, high, p=p, wins=9, ties=1, losses=2, n=n)


@pytest.mark.parametrize(
    ("change", "begins"),
    [
        (
            difference(0.5, 4, p=0.03),
            "Adapting helped: DR 60.0 → 62.2, +2.2 [+0.5, +4.0] on 30 questions; 9 became better, 2 worse.",
        ),
        (difference(-4, -0.5, p=0.01), "Adapting did harm: "),
        (difference(-16, -0.6, 6, p=0.25), "Whether adapting helped cannot be told with 6 questions: "),
        (difference(-0.9, 0.9), "Adapting made no real difference: "),
        (difference(0.1, 0.8, p=0.01), "Adapting made no real difference: "),
        (difference(0.1, 0.8, 20, p=0.01), "Whether adapting helped cannot be told with 20 questions: "),
        (difference(-3, 6), "Whether adapting helped cannot be told with 30 questions: "),
        (difference(0, 0, 29), "Whether adapting helped cannot be told with 29 questions: "),
        (difference(nan, nan, 1), "Whether adapting helped cannot be told with 1 question"),
    ],
)
def test_sentences(change: Difference, begins: str) -> None:
    assert verdict(change, what="Adapting").startswith(begins)


def run(**scores: float) -> Run:
    return run_of([record(id, {"disambig_f1": score, "rouge_l": score}) for id, score in scores.items()])


def test_questions_that_changed_stand_in_order() -> None:
    before = run(a=0.5, b=0.5, c=0.5, d=0.2, e=0.3, g=0.5)
    after = run(b=0.4, a=0.9, c=0.5, d=0.3, f=1.0, g=0.1)
    won, lost = won_and_lost(before, after, "dr")
    assert [one.old.id for one in won] == ["a", "d"]
    assert [one.new.id for one in lost] == ["g", "b"]
    assert [(round(one.before), round(one.after)) for one in (*won, *lost)] == [(50, 90), (20, 30), (50, 10), (50, 40)]
    assert won[0].difference == pytest.approx(40)
