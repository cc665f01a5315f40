import itertools
import json
from math import isnan, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from polyqa.base.values import json_data
from polyqa.evaluation.columns import COLUMNS
from polyqa.evaluation.statistics import Difference, Estimate, compare, estimate

Array = NDArray[np.float64]
EM, DR, G_P, SECONDS = (COLUMNS[name] for name in ("str_em", "dr", "g_precision", "seconds"))


def random(n: int, seed: int = 0, low: float = 0.0, high: float = 1.0) -> Array:
    return np.random.default_rng(seed).uniform(low, high, n)


def found(one: Estimate | None) -> Estimate:
    assert one is not None
    return one


def told(one: Difference | None) -> Difference:
    assert one is not None
    return one


def test_the_interval_holds_the_value_and_shrinks_with_n() -> None:
    widths = []
    for n in (20, 200, 2000):
        one = found(estimate(EM, [random(n)]))
        assert one.low < one.value < one.high
        assert one.n == n
        assert one.value == pytest.approx(100 * random(n).mean())
        widths.append(one.high - one.low)
    assert widths[0] > 2 * widths[1] > 4 * widths[2]


def test_the_interval_of_dr_holds_the_dr_of_the_means() -> None:
    disambig_f1, rouge_l = random(80, 1), random(80, 2)
    one = found(estimate(DR, [disambig_f1, rouge_l]))
    assert one.value == pytest.approx(100 * sqrt(disambig_f1.mean() * rouge_l.mean()))
    assert one.low < one.value < one.high


def test_a_seed_gives_the_same_interval_and_another_seed_another() -> None:
    scores = [random(30)]
    assert estimate(EM, scores, seed=3) == estimate(EM, scores, seed=3)
    assert estimate(EM, scores, seed=3) != estimate(EM, scores, seed=4)


def test_equal_scores_have_an_interval_without_width() -> None:
    one = found(estimate(EM, [np.full(9, 0.3)]))
    assert (one.low, one.high) == (pytest.approx(30.0), pytest.approx(30.0))


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(5)
    hits = 0
    for trial in range(200):
        one = found(estimate(EM, [rng.beta(2, 3, 50)], seed=trial))
        hits += one.low <= 40.0 <= one.high  # the mean of Beta(2, 3)
    assert 0.90 <= hits / 200 <= 0.99


def test_questions_without_a_score_do_not_count() -> None:
    scores = np.array([0.5, np.nan, 1.0])
    assert found(estimate(EM, [scores])).n == 2
    assert found(estimate(EM, [scores])).value == 75.0
    assert found(estimate(DR, [scores, np.array([np.nan, 1.0, 1.0])])).n == 1
    assert estimate(EM, [np.array([np.nan, np.nan])]) is None
    assert estimate(EM, [np.array([])]) is None


def test_a_ratio_of_nothing_does_not_count_either() -> None:
    """With 9 of 10 questions left out, every third resample would hold none of the tenth."""
    part, whole = np.zeros(10), np.zeros(10)
    part[0], whole[0] = 1.0, 2.0
    part[1], whole[1] = 1.0, 1.0
    one = found(estimate(G_P, [part, whole]))
    assert (one.value, one.n) == (75.0, 2)
    assert (one.low, one.high) == (50.0, 100.0)
    assert estimate(G_P, [np.zeros(3), np.zeros(3)]) is None


def test_a_single_question_has_no_interval_and_its_json_is_json() -> None:
    one = found(estimate(EM, [np.array([0.5])]))
    assert isnan(one.low)
    assert isnan(one.high)
    assert str(one) == "50.0"
    assert json.dumps(json_data(one), allow_nan=False) == '{"value": 50.0, "low": null, "high": null, "n": 1}'
    assert str(Estimate(50.0, 40.0, 61.24, 3)) == "50.0 [40.0, 61.2]"


def test_identical_systems_are_tied() -> None:
    scores = [random(40, 1), random(40, 2)]
    one = told(compare(DR, scores, scores))
    assert (one.difference, one.low, one.high, one.p) == (0.0, 0.0, 0.0, 1.0)
    assert (one.wins, one.ties, one.losses, one.n) == (0, 40, 0, 40)


def test_a_better_system_is_told_from_a_worse_one() -> None:
    worse = random(60, high=0.8)
    better = worse + random(60, 1, high=0.2)
    one = told(compare(EM, [worse], [better]))
    assert 0 < one.low < one.difference < one.high
    assert one.p < 0.001
    assert (one.wins, one.losses) == (60, 0)
    other = told(compare(EM, [better], [worse]))
    assert other.difference == pytest.approx(-one.difference)
    assert other.p == pytest.approx(one.p, abs=0.001)
    assert (other.wins, other.losses) == (0, 60)


def test_a_difference_of_a_few_questions_is_not_taken_for_sure() -> None:
    a, b = np.zeros(50), np.zeros(50)
    b[:2] = 1.0
    one = told(compare(EM, [a], [b]))
    assert one.p > 0.2
    assert one.low <= 0 < one.difference


@pytest.mark.slow
def test_p_values_are_uniform_where_there_is_no_difference() -> None:
    rng = np.random.default_rng(7)
    values = np.array([told(compare(EM, [rng.random(15)], [rng.random(15)], seed=trial)).p for trial in range(150)])
    for share in (0.1, 0.25, 0.5, 0.75):
        assert abs((values <= share).mean() - share) < 0.11


def exact_p(column_value: object, a: Array, b: Array) -> float:
    """Return the two-sided p over all ways to swap, by hand: twice the smaller tail."""
    differences = []
    for swaps in itertools.product([False, True], repeat=a.shape[1]):
        x, y = np.where(swaps, b, a), np.where(swaps, a, b)
        differences.append(round(column_value(*y) - column_value(*x), 9))  # type: ignore[operator]
    observed, every = differences[0], np.array(differences)
    return float(min(1.0, 2 * min((every >= observed).mean(), (every <= observed).mean())))


def test_p_by_hand() -> None:
    zeros = [np.zeros(3)]
    assert told(compare(EM, zeros, [np.array([0.1, 0.2, 0.4])])).p == pytest.approx(2 / 8)  # all eight differ
    assert told(compare(EM, zeros, [np.array([0.1, 0.2, -0.3])])).p == 1.0
    # Sums ±0.5 ± 0.1 ± 0.1: 0.5 or more in three of eight ways, as two of them give 0.5.
    assert told(compare(EM, zeros, [np.array([0.5, 0.1, -0.1])])).p == pytest.approx(6 / 8)


@pytest.mark.parametrize("name", ["str_em", "dr", "answer_f1", "g_f1", "seconds"])
def test_p_is_exact_for_few_questions(name: str) -> None:
    column = COLUMNS[name]
    rng = np.random.default_rng(11)
    for n in (2, 3, 4, 6):
        a, b = rng.integers(1, 6, (2, len(column.scores), n)) / 5  # tenths tie often
        assert told(compare(column, list(a), list(b))).p == pytest.approx(exact_p(column.value, a, b))


def test_faster_wins() -> None:
    one = told(compare(SECONDS, [np.array([3.0, 2.0, 1.0, 5.0])], [np.array([1.0, 2.0, 4.0, 4.0])]))
    assert (one.wins, one.ties, one.losses) == (2, 1, 1)
    assert one.difference == 0.0


def test_what_is_neither_better_nor_worse_has_no_wins() -> None:
    one = told(compare(COLUMNS["length"], [np.array([3.0, 2.0])], [np.array([4.0, 2.0])]))
    assert (one.wins, one.ties, one.losses) == (0, 0, 0)


def test_rounding_errors_are_ties() -> None:
    one = told(compare(EM, [np.array([0.3, 0.5])], [np.array([0.1 + 0.2, 0.5])]))
    assert (one.wins, one.ties, one.losses) == (0, 2, 0)


def test_only_questions_that_both_have_are_compared() -> None:
    one = told(compare(EM, [np.array([0.1, np.nan, 0.3])], [np.array([np.nan, 0.2, 0.5])]))
    assert (one.n, one.a, one.b) == (1, pytest.approx(30.0), pytest.approx(50.0))
    assert isnan(one.low)
    assert one.p == 1.0
    assert json_data(one)["low"] is None
    assert compare(EM, [np.array([0.1, np.nan])], [np.array([np.nan, 0.2])]) is None


def test_ratios_are_compared_where_both_have_one() -> None:
    ones, nothing = np.ones(20), np.zeros(20)
    assert compare(G_P, [nothing, nothing], [ones, ones]) is None, "no ratio in A: no difference, and no p either"
    few = nothing.copy()
    few[:3] = 1.0
    one = told(compare(G_P, [nothing, few], [ones, ones]))
    assert (one.n, one.a, one.b, one.wins, one.ties) == (3, 0.0, 100.0, 3, 0)
    assert one.p == pytest.approx(2 / 8)


def test_comparing_twice_gives_the_same() -> None:
    a, b = [random(25, 1)], [random(25, 2)]
    assert compare(EM, a, b, seed=1) == compare(EM, a, b, seed=1)
    first, second = told(compare(EM, a, b, seed=1)), told(compare(EM, a, b, seed=2))
    assert first.difference == second.difference
    assert (first.low, first.high) != (second.low, second.high)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("changed", [1, 2])
def test_a_few_questions_that_differ_prove_nothing(seed: int, changed: int) -> None:
    random = np.random.default_rng(seed)
    before = [random.uniform(0.3, 1.0, 54), random.uniform(0.3, 1.0, 54)]
    after = [scores.copy() for scores in before]
    for scores in after:
        scores[:changed] -= 0.2 * random.random(changed)
    found = compare(COLUMNS["dr"], before, after)
    assert found is not None
    assert found.losses == changed
    assert found.p > (0.9 if changed == 1 else 0.3)
