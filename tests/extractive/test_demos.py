from hypothesis import given
from hypothesis import strategies as st

from polyqa.extractive.demos import best_cut, clearly_better_cut

LABELS = st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=12)


def test_labels_that_clearly_separate_move_the_threshold() -> None:
    labels = [(0.2, False), (0.25, False), (0.3, False), (0.6, True), (0.7, True)]
    assert 0.3 < best_cut(labels, 0.1) <= 0.6
    assert clearly_better_cut(labels, 0.1) == best_cut(labels, 0.1)


def test_one_label_or_two_of_five_do_not() -> None:
    assert clearly_better_cut([(0.5, False)], 0.1) == 0.1
    assert clearly_better_cut([(0.2, False), (0.25, False), (0.6, True), (0.7, True), (0.8, True)], 0.1) == 0.1
    assert clearly_better_cut([], 0.1) == best_cut([], 0.1) == 0.1


@given(LABELS, st.floats(0, 1))
def test_a_moved_threshold_never_makes_more_errors(labels: list[tuple[float, bool]], default: float) -> None:
    def errors(cut: float) -> int:
        return sum((score >= cut) != label for score, label in labels)

    assert errors(best_cut(labels, default)) <= errors(default)
    cut = clearly_better_cut(labels, default)
    assert cut == default or errors(cut) <= errors(default) - 2
