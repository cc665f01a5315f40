from math import nan
from pathlib import Path

import pytest

from polyqa.base.work import Failure
from polyqa.evaluation.records import Record
from polyqa.evaluation.runs import Run
from polyqa.evaluation.statistics import Difference
from polyqa.evaluation.verdicts import changed_questions, verdict


def difference(low: float, high: float, n: int = 30) -> Difference:
    return Difference(
        a=60,
        b=60 + (low + high) / 2,
        difference=(low + high) / 2,
        low=low,
        high=high,
        p=0.5,
        wins=9,
        ties=1,
        losses=2,
        n=n,
    )


@pytest.mark.parametrize(
    ("change", "begins"),
    [
        (
            difference(0.5, 4),
            "Adapting helped: DR 60.0 → 62.2, +2.2 [+0.5, +4.0] on 30 questions; 9 became better, 2 worse.",
        ),
        (difference(-4, -0.5), "Adapting did harm: "),
        (difference(-0.9, 0.9), "Adapting made no real difference: "),
        (difference(-3, 6), "Whether adapting helped cannot be told with 30 questions: "),
        (difference(0, 0, 29), "Whether adapting helped cannot be told with 29 questions: "),
        (difference(nan, nan, 1), "Whether adapting helped cannot be told with 1 question"),
    ],
)
def test_sentences(change: Difference, begins: str) -> None:
    assert verdict(change, what="Adapting").startswith(begins)


def record(id: str, score: float, *, failed: bool = False) -> Record:
    error = Failure(kind="Error", message="gone") if failed else None
    scores = {"disambig_f1": score, "rouge_l": score}
    return Record(id=id, question=f"Who is {id}?", gold_readings=1, answer=f"{id} {score}", scores=scores, error=error)


def run(*records: Record) -> Run:
    return Run(path=Path("runs/x"), records=list(records), settings=None)


def test_questions_that_changed_stand_in_order() -> None:
    before = run(record("a", 0.5), record("b", 0.5), record("c", 0.5), record("d", 0.2), record("e", 0.3))
    after = run(record("b", 0.4), record("a", 0.9), record("c", 0.5), record("d", 0.3), record("f", 1.0))
    changed = changed_questions(before, after, "dr")
    assert [one.old.id for one in changed] == ["a", "d", "b"]
    assert [(round(one.before), round(one.after)) for one in changed] == [(50, 90), (20, 30), (50, 40)]
    assert changed[0].difference == pytest.approx(40)
    assert (changed[0].old.answer, changed[0].new.answer) == ("a 0.5", "a 0.9")
