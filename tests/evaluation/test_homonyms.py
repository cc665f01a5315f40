"""The shipped corpus and questions keep what they promise."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from polyqa.base.values import Passage
from polyqa.colbert_index import read_corpus
from polyqa.evaluation.homonyms import SPLITS, corpus_path
from polyqa.evaluation.loading import load_questions
from polyqa.metrics import has_answer, normalize_answer
from polyqa.metrics.gold import Question
from polyqa.models import Encoder

KINDS = ("subject", "object", "predicate", "time", "location")


@pytest.fixture(scope="module")
def passages() -> list[Passage]:
    return read_corpus(corpus_path())


@pytest.fixture(scope="module")
def splits() -> dict[str, list[Question]]:
    return {split: load_questions("homonyms", split=split) for split in SPLITS}


def test_there_are_as_many_as_promised(passages: list[Passage], splits: dict[str, list[Question]]) -> None:
    kinds = Counter(question.ambiguity for questions in splits.values() for question in questions)
    assert len(passages) >= 240
    assert kinds.keys() == {*KINDS, "none"}
    assert kinds["none"] >= 40
    assert min(kinds[kind] for kind in KINDS) >= 5
    assert sum(kinds[kind] for kind in KINDS) >= 80
    assert all(len(questions) >= 40 for questions in splits.values())


def test_a_passage_is_a_paragraph_with_a_title(passages: list[Passage]) -> None:
    assert [one.pid for one in passages if not one.title or not 60 <= len(one.text.split()) <= 120] == []


def test_no_question_is_in_two_splits(splits: dict[str, list[Question]]) -> None:
    every = [question for questions in splits.values() for question in questions]
    assert len({one.id for one in every}) == len({normalize_answer(one.question) for one in every}) == len(every)


def test_readings_differ_and_their_answers_stand_in_passages_and_long_answers(
    passages: list[Passage], splits: dict[str, list[Question]]
) -> None:
    texts = {passage.pid: passage.text for passage in passages}
    for split, questions in splits.items():
        for one in questions:
            aliases = [{normalize_answer(text) for text in reading.short_answers} for reading in one.readings]
            assert one.reason, one.id
            assert len(one.readings) == 1 if one.ambiguity == "none" else 2 <= len(one.readings) <= 6, one.id
            assert len({normalize_answer(reading.question) for reading in one.readings}) == len(one.readings), one.id
            assert not any(first & second for first, second in combinations(aliases, 2)), one.id
            assert len(one.long_answers) == (1 if split == "train" else 2), one.id
            for reading in one.readings:
                assert has_answer(reading.short_answers[:1], texts[reading.pid or ""]), one.id
                assert all(has_answer(reading.short_answers, answer) for answer in one.long_answers), one.id


@pytest.mark.slow
def test_no_two_passages_say_the_same(passages: list[Passage]) -> None:
    words = [normalize_answer(passage.text).split() for passage in passages]
    shingles = [{tuple(own[at : at + 5]) for at in range(len(own) - 4)} for own in words]
    vectors = Encoder().encode([passage.text for passage in passages])
    assert np.triu(vectors @ vectors.T, 1).max() <= 0.97
    assert max(len(one & other) / len(one | other) for one, other in combinations(shingles, 2)) <= 0.2
