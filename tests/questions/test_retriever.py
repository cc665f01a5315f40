from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyqa.base.values import Passage
from polyqa.colbert_index import ColBERTIndex
from polyqa.questions import FoundQuestion, QuestionDatabase, QuestionRetriever

QUERIES = ["When was the bridge opened?", "Who designed the tower?", "How tall is the lighthouse?"]


@pytest.fixture(scope="session")
def retriever(database: QuestionDatabase, corpus_index: ColBERTIndex) -> QuestionRetriever:
    return QuestionRetriever(database, corpus_index)


class Ranked:
    """A database whose ranking is given."""

    def __init__(self, questions: Sequence[tuple[float, Sequence[str]]]) -> None:
        found = [
            FoundQuestion(
                question=f"q{n}", answers=tuple(f"of {pid}" for pid in pids), pids=tuple(pids), number=n, score=score
            )
            for n, (score, pids) in enumerate(questions)
        ]
        self.found = sorted(found, key=lambda one: (-one.score, one.number))
        self.taken = 0

    def ranked(self, queries: Sequence[str], *, ranking: str) -> list[Iterator[FoundQuestion]]:
        return [self._ranked() for _ in queries]

    def _ranked(self) -> Iterator[FoundQuestion]:
        for self.taken, one in enumerate(self.found, 1):  # noqa: B020
            yield one


class Numbered:
    """An index of passages p0 … p9; with a condition, those with an even number may be found."""

    def __init__(self, condition: str | None = None) -> None:
        self.condition = condition

    def may_find(self, pid: str) -> bool:
        return int(pid[1:]) % 2 == 0

    def passage(self, pid: str) -> Passage:
        return Passage(pid=pid, text=f"Text of {pid}.")

    def position(self, passage: Passage) -> int:
        return int(passage.pid[1:])


questions = st.lists(
    st.tuples(
        st.sampled_from([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]),
        st.lists(st.sampled_from([f"p{n}" for n in range(10)]), min_size=1, max_size=4),
    ),
    max_size=30,
)


@given(questions, st.integers(1, 12), st.integers(1, 8))
def test_max_is_equation_1(ranked: list[tuple[float, list[str]]], k: int, depth: int) -> None:
    retriever = QuestionRetriever(Ranked(ranked), Numbered(), by="max", depth=depth)  # type: ignore[arg-type]
    scores = {pid: max(score for score, pids in ranked if pid in pids) for _, own in ranked for pid in own}
    expected = sorted(scores, key=lambda pid: (-scores[pid], int(pid[1:])))[:k]
    assert [(one.pid, one.score) for one in retriever.search("x", k)] == [(pid, scores[pid]) for pid in expected]


@given(questions, st.integers(1, 12), st.integers(1, 8))
def test_count_is_equation_2_with_ties_broken_by_max(ranked: list[tuple[float, list[str]]], k: int, depth: int) -> None:
    retriever = QuestionRetriever(Ranked(ranked), Numbered(), by="count", depth=depth)  # type: ignore[arg-type]
    top = sorted(range(len(ranked)), key=lambda n: (-ranked[n][0], n))[:depth]
    count = Counter(pid for n in top for pid in set(ranked[n][1]))
    best = {pid: max(ranked[n][0] for n in top if pid in ranked[n][1]) for pid in count}
    expected = sorted(count, key=lambda pid: (-count[pid], -best[pid], int(pid[1:])))[:k]
    assert [(one.pid, one.score) for one in retriever.search("x", k)] == [(pid, count[pid]) for pid in expected]


@given(questions, st.integers(1, 12), st.integers(1, 8), st.sampled_from(["max", "count"]))
def test_a_condition_is_as_if_there_were_no_other_passages(
    ranked: list[tuple[float, list[str]]], k: int, depth: int, by: Literal["max", "count"]
) -> None:
    whole = QuestionRetriever(Ranked(ranked), Numbered("even"), by=by, depth=depth)  # type: ignore[arg-type]
    even = [(score, [pid for pid in pids if int(pid[1:]) % 2 == 0]) for score, pids in ranked]
    part = QuestionRetriever(Ranked([row for row in even if row[1]]), Numbered(), by=by, depth=depth)  # type: ignore[arg-type]
    assert whole.search("x", k) == part.search("x", k)
    told, expected = ([one.distinct_answers() for one in own.questions("x", k)] for own in (whole, part))
    assert told == expected


def test_max_reads_no_more_questions_than_it_must() -> None:
    ranked = Ranked([(1.0 - n / 1000, [f"p{n % 10}"]) for n in range(900)])
    assert len(QuestionRetriever(ranked, Numbered()).search("x", 5)) == 5  # type: ignore[arg-type]
    assert ranked.taken == 6


@pytest.mark.parametrize("ranking", ["dense", "bm25"])
@pytest.mark.parametrize("by", ["max", "count"])
def test_the_real_database_gives_what_the_definitions_say(
    retriever: QuestionRetriever, database: QuestionDatabase, corpus_index: ColBERTIndex, by: str, ranking: str
) -> None:
    own = replace(retriever, by=by, ranking=ranking, depth=6)
    for query, found in zip(QUERIES, own.search_many(QUERIES, 4), strict=True):
        ranked = Ranked([(one.score, one.pids) for one in database.search(query, len(database), ranking=ranking)])
        expected = replace(own, database=ranked).search(query, 4)
        assert [one.pid for one in found] == [one.pid for one in expected]
        assert [one.score for one in found] == pytest.approx([one.score for one in expected])
        assert all(one.text == corpus_index.passage(one.pid).text for one in found)


@settings(max_examples=25)
@given(st.text(max_size=40), st.sampled_from(["max", "count"]), st.sampled_from(["dense", "bm25"]))
def test_batches_give_what_single_searches_give(
    retriever: QuestionRetriever, query: str, by: str, ranking: str
) -> None:
    own = replace(retriever, by=by, ranking=ranking)
    batch = own.search_many([query, QUERIES[0]], 3)
    assert [[one.pid for one in found] for found in batch] == [
        [one.pid for one in own.search(text, 3)] for text in (query, QUERIES[0])
    ]


def test_bad_settings_are_refused(database: QuestionDatabase, corpus_index: ColBERTIndex) -> None:
    with pytest.raises(ValueError, match="max or count"):
        QuestionRetriever(database, corpus_index, by="mean")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="depth"):
        QuestionRetriever(database, corpus_index, depth=0)
    with pytest.raises(ValueError, match="k must"):
        QuestionRetriever(database, corpus_index).search("x", 0)
