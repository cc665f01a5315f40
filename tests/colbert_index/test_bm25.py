import math
from itertools import product

import numpy as np
import pytest

from polyqa.base.values import Passage
from polyqa.colbert_index import BM25Retriever, ColBERTIndex

FEW = [
    Passage(pid="a", title="Tea", text="Green tea is steamed."),
    Passage(pid="b", text="The kettle sings on the stove."),
    Passage(pid="c", title="Kettle", text="A kettle of copper; a kettle of tin."),
    Passage(pid="d", text="Kites climb in the evening breeze."),
]


def test_the_score_is_lucenes_bm25() -> None:
    # After stop words and stemming: 4 + 3 + 5 + 4 words, of which "kettl" stands in b once and in c three times.
    idf = math.log(1 + (4 - 2 + 0.5) / (2 + 0.5))

    def score(frequency: int, length: int) -> float:
        return idf * frequency / (frequency + 1.5 * (1 - 0.75 + 0.75 * length / 4))

    found = BM25Retriever(FEW).search("kettle")
    assert [(passage.pid, passage.score) for passage in found] == [
        ("c", pytest.approx(score(3, 5), rel=1e-5)),
        ("b", pytest.approx(score(1, 3), rel=1e-5)),
    ]


@pytest.mark.parametrize(
    ("query", "pids"),
    [("stove", "b"), ("TEAS kite", "ad"), ("glacier", ""), ("the of and", ""), ("", "")],
)
def test_titles_count_words_are_stemmed_and_what_shares_none_is_left_out(query: str, pids: str) -> None:
    assert sorted(passage.pid for passage in BM25Retriever(FEW).search(query, k=4)) == [*pids]


@pytest.mark.parametrize(
    ("query", "pid"),
    [
        ("When did Falcon 4 fly?", "four"),
        ("What does vitamin C do?", "vitamin"),
        ("大桥是哪年建成的?", "bridge"),
        ("1957", "bridge"),
        ("いつ開業しましたか", "station"),
    ],
)
def test_words_of_one_sign_count(query: str, pid: str) -> None:
    texts = {
        "three": "Falcon 3 flew in May.",
        "four": "Falcon 4 flew in June.",
        "deficiency": "Vitamin D strengthens bones. What it does is known.",
        "vitamin": "Vitamin C strengthens gums. What it does is known.",
        "bridge": "大桥于1957年建成。",
        "station": "駅は1964年に開業した。",
    }
    found = BM25Retriever([Passage(pid=pid, text=text) for pid, text in texts.items()]).search(query)
    assert found[0].pid == pid
    assert len(found) == 1 or found[0].score > found[1].score


def test_what_an_apostrophe_cuts_off_is_no_word() -> None:
    passages = [Passage(pid="a", text="It's tea, isn’t it?"), Passage(pid="b", text="Route S ends at stop T.")]
    assert [passage.pid for passage in BM25Retriever(passages).search("s or t")] == ["b"]


def test_k_cuts_the_list() -> None:
    retriever = BM25Retriever(FEW)
    assert [passage.pid for passage in retriever.search("kettle", k=1)] == ["c"]
    assert retriever.search("kettle", k=100) == retriever.search("kettle", k=4)


def test_search_many_is_many_searches(passages: list[Passage]) -> None:
    retriever = BM25Retriever(passages)
    queries = ["salt in the tea", "glacier", "unheard-of", "", "honey and ink"]
    assert retriever.search_many(queries, k=5) == [retriever.search(query, k=5) for query in queries]
    assert retriever.search_many([]) == []


def test_the_index_brings_its_own_from_its_files(index: ColBERTIndex, passages: list[Passage]) -> None:
    queries = ["salt in the tea", "glacier", "unheard-of", "honey and ink"]
    assert index.bm25.search_many(queries) == BM25Retriever(passages).search_many(queries)
    assert index.bm25 is index.bm25


def test_one_passage_is_enough_and_none_is_not() -> None:
    assert BM25Retriever(FEW[:1]).search("green")[0].pid == "a"
    with pytest.raises(ValueError, match="at least one passage"):
        BM25Retriever([])


def test_equal_scores_have_the_same_order_on_every_machine_and_in_every_corpus() -> None:
    names = "FBDCE" * 9
    alike = [Passage(pid=str(at), title=f"Hall {name}", text="It was opened.") for at, name in enumerate(names)]
    for passages in (alike, alike[::-1]):
        for k in (3, 20, 45):
            found = BM25Retriever(passages).search_many(["hall opened"], k)[0]
            assert [one.title[-1] for one in found] == sorted(names, reverse=True)[:k]


@pytest.mark.parametrize(
    ("query", "title"),
    [("What changed in 1.4.1?", "Version 1.4.1"), ("v1.4.4", "Version 1.4.4"), ("§ 2.1", "Part 2.1")],
)
def test_a_number_of_several_parts_is_found_as_a_whole(query: str, title: str) -> None:
    parts = ("1", "2", "4")
    titles = [f"Version {'.'.join(number)}" for number in product(parts, repeat=3)]
    titles += [f"Part {'.'.join(number)}" for number in product(parts, repeat=2)]
    retriever = BM25Retriever([Passage(pid=title, title=title, text="It has a fault.") for title in titles])
    first, second = retriever.search(query, k=2)
    assert first.pid == title
    assert first.score > second.score
    assert title not in {one.pid for one in retriever.among(np.array(titles) != title).search(query, k=50)}
