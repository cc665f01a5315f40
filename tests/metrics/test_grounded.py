from math import isnan
from typing import Any

import pytest
from data_files import golden

from polyqa.metrics.grounded import (
    Judgement,
    Ratio,
    gold_recall,
    grounded_f1,
    grounded_precision,
    grounded_recall,
    macro,
    micro,
    precision,
    released_grounded_recall,
    sufficient,
)

GOLDEN = golden("verdict_grounded_metrics")
NO_PASSAGE = golden("verdict_grounded_metrics_no_passage")
EMPTY = golden("verdict_grounded_metrics_empty")
DIVERSITY = golden("verdict_diversity")
DECISIONS = GOLDEN["judge_decisions"]


def judgement(*, grounded: Any = (), matched: Any = (), found: Any = (), groundable: Any = None) -> Judgement:
    none = (False,) * len(found)
    able = none if groundable is None else tuple(groundable)
    return Judgement(tuple(grounded), tuple(matched), tuple(found), able, none, distinct=len(grounded))


# The released code judges neither which gold readings can be grounded nor what the cited passages support.
JUDGEMENTS = {
    id: judgement(
        grounded=DECISIONS["grounded_precision"][id],
        matched=DECISIONS["precision"][id],
        found=DECISIONS["recall"][id],
    )
    for id in DECISIONS["precision"]
}


@pytest.mark.parametrize(
    ("name", "ratio"),
    [
        ("precision", precision),
        ("recall", gold_recall),
        ("grounded_precision", grounded_precision),
        ("grounded_recall", released_grounded_recall),
    ],
)
def test_agreement_with_the_released_code(name: str, ratio: Any) -> None:
    ratios = [ratio(one) for one in JUDGEMENTS.values()]
    assert macro(ratios) == pytest.approx(GOLDEN["summary"][name], abs=1e-9)
    assert micro(ratios) == pytest.approx(GOLDEN["summary"][f"{name}_micro"], abs=1e-9)


def test_grounded_f1_is_of_the_corpus_values() -> None:
    summary = GOLDEN["summary"]
    (wanted,) = (value for name, value in summary.items() if name.startswith("G-F1"))
    assert grounded_f1(summary["grounded_precision"], summary["grounded_recall"]) == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("id", JUDGEMENTS)
def test_additional_matches_agree_with_the_released_code(id: str) -> None:
    assert JUDGEMENTS[id].additional == GOLDEN["additionally_matched"][id]


def test_without_passages_of_their_own_interpretations_are_held_against_all() -> None:
    supported: dict[str, list[bool]] = {}
    for name, verdicts in NO_PASSAGE["topk_decisions"].items():
        supported.setdefault(name.split("#")[0], []).append(any(verdicts))
    ratios = [grounded_precision(judgement(grounded=own, matched=own)) for own in supported.values()]
    summary = NO_PASSAGE["summary"]
    assert macro(ratios) == pytest.approx(summary["grounded_precision"], abs=1e-9)
    assert micro(ratios) == pytest.approx(summary["grounded_precision_micro"], abs=1e-9)
    # The released code then forgets the additional ones, so that its grounded recall is the plain recall.
    recalls = [gold_recall(one) for one in JUDGEMENTS.values()]
    assert macro(recalls) == pytest.approx(summary["grounded_recall"], abs=1e-9)
    assert micro(recalls) == pytest.approx(summary["grounded_recall_micro"], abs=1e-9)


def test_a_question_without_interpretations_has_no_precision() -> None:
    # The section gives no decisions; these have its micro value.
    ratios = [
        grounded_precision(judgement(grounded=own, matched=own)) for own in ([True, True, False], [True, False], [])
    ]
    assert ratios[-1].value is None
    assert micro(ratios) == pytest.approx(EMPTY["summary"]["grounded_precision_micro"], abs=1e-9)
    assert EMPTY["summary"]["grounded_precision"] is None  # NaN in the released code
    assert macro(ratios) == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert not isnan(macro(ratios))


@pytest.mark.parametrize("at_least", range(1, 6))
def test_sufficient_agrees_with_the_released_code(at_least: int) -> None:
    judged = [Judgement((), (), (), (), (), distinct=count) for count in DIVERSITY["num_after"]]
    assert sufficient(judged, at_least) == pytest.approx(DIVERSITY["summary"][f"Sufficient% @{at_least}"], abs=1e-9)


# Decisions: per interpretation whether it is grounded | matched, per gold reading whether it is found | groundable |
# supported by a cited passage. Then G-recall of the paper, |Q̄ that a cited passage answers| / |Q̄|, beside that of
# the released code, (gold found + additional) / (gold + additional). "Additional" is grounded and not matched.
CASES = {
    "all right": ("yy|yy|yy|yy|yy", Ratio(2, 2), Ratio(2, 2)),
    # A third, good interpretation that no annotator wrote joins Q̄ and is recalled.
    "one more than gold": ("yyy|yyn|yy|yy|yy", Ratio(3, 3), Ratio(3, 3)),
    # No passage answers the third gold reading, so it is not in Q̄. Released: it is missed.
    "a gold reading that nothing answers": ("yy|yy|yyn|yyn|yyn", Ratio(2, 2), Ratio(2, 3)),
    # Its passage does not answer it, though another would. Released: found is found.
    "found but not grounded": ("n|y|y|y|n", Ratio(0, 1), Ratio(1, 1)),
    # Not generated, but the passage cited for another reading answers it as well.
    "answered by a passage cited for another": ("y|y|yn|yy|yy", Ratio(2, 2), Ratio(1, 2)),
    # Only a reading beyond gold; the gold one could have been answered.
    "only additional": ("y|n|n|y|n", Ratio(1, 2), Ratio(1, 2)),
    # Neither grounded nor matched: it is no member of Q̄, precision alone punishes it.
    "an invention": ("yn|yn|y|y|y", Ratio(1, 1), Ratio(1, 1)),
    # The judge contradicts itself: the interpretation is grounded, the same gold reading is not groundable.
    # Gold speaks for the pair, so Q̄ is empty.
    "grounded but not groundable": ("y|y|y|n|n", Ratio(0, 0), Ratio(1, 1)),
    # A cited passage that was not retrieved answers it: U_q does not, so it is not in Q̄.
    "answered from elsewhere": ("n|y|y|n|y", Ratio(0, 0), Ratio(1, 1)),
    # Nothing was generated: nothing of Q̄ is recalled. Released: 0 of both gold readings.
    "nothing generated": ("||nn|yn|nn", Ratio(0, 1), Ratio(0, 2)),
    # Nor could anything have been: 0 of 0, the question is left out.
    "nothing to generate": ("||nn|nn|nn", Ratio(0, 0), Ratio(0, 2)),
}


@pytest.mark.parametrize("name", CASES)
def test_grounded_recall_of_the_paper_and_of_the_released_code(name: str) -> None:
    decisions, paper, released = CASES[name]
    made = [tuple(mark == "y" for mark in marks) for marks in decisions.split("|")]
    one = Judgement(*made, distinct=len(made[0]))
    assert grounded_recall(one) == paper
    assert released_grounded_recall(one) == released
