import hashlib
from dataclasses import replace

import pytest

from polyqa.evaluation.loading import load_questions, questions_fingerprint
from polyqa.metrics.gold import Question, Reading

READING = Reading("Who won first?", ("Bea", "Béa"), "p1")
QUESTION = Question("q", "Who won?", (READING,), ("Bea won.",), "AmbTime", "Two races.", ((READING,),))


def test_it_is_the_beginning_of_a_hash_of_the_questions_as_json() -> None:
    canonical = (
        '[{"ambiguity":null,"id":"q","long_answers":[],"other_annotations":[],"question":"Who won?",'
        '"readings":[{"pid":null,"question":"Who won first?","short_answers":["B\\u00e9a"]}],"reason":null}]'
    )
    plain = Question("q", "Who won?", (Reading("Who won first?", ("Béa",)),))
    assert questions_fingerprint([plain]) == hashlib.sha256(canonical.encode()).hexdigest()[:16]


@pytest.mark.parametrize(
    "change",
    [
        {"id": "other"},
        {"question": "Who lost?"},
        {"readings": (replace(READING, question="Who won last?"),)},
        {"readings": (replace(READING, short_answers=("Bea",)),)},
        {"readings": (replace(READING, pid=None),)},
        {"readings": (replace(READING, other_questions=("Who came first?",)),)},
        {"readings": (READING, READING)},
        {"long_answers": ()},
        {"ambiguity": None},
        {"reason": None},
        {"other_annotations": ()},
    ],
    ids=str,
)
def test_everything_counts(change: dict[str, object]) -> None:
    assert questions_fingerprint([replace(QUESTION, **change)]) != questions_fingerprint([QUESTION])


def test_order_and_number_count() -> None:
    other = replace(QUESTION, id="r")
    found = {questions_fingerprint(asked) for asked in ([], [QUESTION], [QUESTION, other], [other, QUESTION])}
    assert len(found) == 4


def test_a_sample_has_one_of_its_own() -> None:
    sample = questions_fingerprint(load_questions("homonyms", limit=5))
    assert sample == questions_fingerprint(iter(load_questions("homonyms", limit=5)))
    assert sample != questions_fingerprint(load_questions("homonyms", limit=5, seed=1))
