"""What is tried follows from the labels: their numbers, and nothing that no label speaks for."""

from collections.abc import Sequence

import pytest

from polyqa.extractive import ExtractiveEngine
from polyqa.metrics.gold import Question, Reading
from polyqa.optimizers.clauses import LIBRARY, fitted
from polyqa.signatures import ClarifyQuestion, InferPseudoInterpretations, SelectQuestions, VerifyReadings

ANSWER, YEAR, DATE = ("Ada Lovelace",), ("1969", "the year 1969"), ("20 July 1969",)


def labelled(counts: Sequence[int], told: tuple[str, ...] = ANSWER, words: int | None = None) -> list[Question]:
    """Return a question for each number of readings."""
    long = () if words is None else (" ".join(["word"] * words),)
    return [Question(str(at), "Who?", count * (Reading("Who?", told),), long) for at, count in enumerate(counts)]


def names(questions: Sequence[Question], task: type = ClarifyQuestion) -> list[str]:
    return [one.name for one in fitted(LIBRARY[task], questions)]


@pytest.mark.parametrize(
    ("questions", "there", "missing"),
    [
        (labelled([1, 1, 1, 4]), {"one-reading", "at-most-4"}, {"no-lone-reading", "full-dates", "years"}),
        (labelled([1, 2, 2]), {"no-lone-reading", "three-readings"}, {"at-most-2", "at-least-2"}),
        (labelled([2, 4, 4, 5, 5, 5, 6, 6, 7, 30]), {"at-most-7", "at-least-5"}, {"at-most-30"}),
        (labelled([2], YEAR), {"years"}, {"full-dates"}),
        (labelled([2], DATE), {"full-dates"}, {"years"}),
        (labelled([2], ("in 1969",)), set(), {"full-dates", "years"}),
        (labelled([2], ("March 1969",)), set(), {"full-dates", "years"}),
        (labelled([2], ("April 12th, 1999",)), {"full-dates"}, {"years"}),
        (labelled([2], words=57), {"60-words", "forty-words"}, set()),
        (labelled([2], words=83), {"eighty-words"}, {"80-words"}),
        (labelled([2], words=1), {"10-words"}, set()),
        (labelled([2], words=400), {"400-words"}, set()),
        (labelled([2]), {"forty-words", "brief", "quote"}, {"10-words"}),
    ],
)
def test_labels_say_what_is_tried(questions: list[Question], there: set[str], missing: set[str]) -> None:
    found = names(questions)
    assert there <= set(found)
    assert not missing & set(found)


def test_without_labels_the_library_is_tried_as_it_is() -> None:
    assert fitted(LIBRARY[ClarifyQuestion], []) == list(LIBRARY[ClarifyQuestion])


def test_a_number_stands_only_beside_clauses_that_say_the_same_of_the_same() -> None:
    many = labelled([6] * 10, words=400)
    assert names(many, SelectQuestions) == [
        "one-reading",
        "two-readings",
        "three-readings",
        "at-most-6",
        "certain",
        "possible",
    ]
    assert names(many, InferPseudoInterpretations) == ["few-guesses", "search-words"]
    assert names(many, VerifyReadings) == ["strict", "lenient"]


def test_the_embedded_engine_obeys_what_is_added() -> None:
    engine = ExtractiveEngine()
    added = [
        one
        for one in fitted(LIBRARY[ClarifyQuestion], labelled([12] * 10, YEAR, 57))
        if one not in LIBRARY[ClarifyQuestion]
    ]
    assert len(added) == 3
    for one in added:
        assert not engine.unheeded(ClarifyQuestion.with_instructions(one.text))
