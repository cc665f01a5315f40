"""Which questions a corpus can answer."""

from collections.abc import Sequence

from lab.answerable import answerable, as_ambignq
from polyqa.base.values import Passage
from polyqa.evaluation.loading import questions_from_records
from polyqa.metrics.gold import Question, Reading


class Shelf:
    """Finds all of its passages for every question."""

    def __init__(self, *texts: str) -> None:
        self.passages = [Passage(pid=str(n), text=text) for n, text in enumerate(texts)]

    def search(self, query: str, k: int = 10) -> list[Passage]:
        return self.passages[:k]

    def search_many(self, queries: Sequence[str], k: int = 10) -> list[list[Passage]]:
        return [self.search(query, k) for query in queries]


def question(id: str, *answers: str) -> Question:
    return Question(id=id, question=f"{id}?", readings=tuple(Reading(f"{id} {a}?", (a, f"the {a}")) for a in answers))


def test_every_reading_needs_an_answer_in_the_passages() -> None:
    shelf = Shelf("Built in 1953.", "Opened in 1997.")
    both, half, none = question("both", "1953", "1997"), question("half", "1953", "2012"), question("none", "2012")
    assert answerable([both, half, none], shelf) == [both]
    assert answerable([both, half, none], shelf, depth=1) == []


def test_the_first_so_many_are_taken() -> None:
    questions = [question(f"q{n}", "1953") for n in range(130)]
    assert answerable(questions, Shelf("Built in 1953."), limit=3) == questions[:3]
    assert answerable(questions, Shelf("Built in 1953.")) == questions


def test_what_is_written_is_read_back() -> None:
    asked = [question("one", "1953"), question("two", "1953", "1997")]
    read = questions_from_records([as_ambignq(one) for one in asked], format="ambignq")
    assert [one.id for one in read] == ["one", "two"]
    assert [[reading.short_answers for reading in one.readings] for one in read] == [
        [reading.short_answers for reading in one.readings] for one in asked
    ]
