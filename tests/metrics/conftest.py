from collections.abc import Mapping, Sequence

import pytest

from polyqa.metrics.gold import Question
from polyqa.metrics.gold import Reading as GoldReading
from polyqa.models import Reading, Span


class TableReader:
    """A reader that looks its answers up by question; ``""`` for a question that it does not know."""

    name = "table"

    def __init__(self, answers: Mapping[str, str]) -> None:
        self.answers = answers
        self.batches: list[list[tuple[str, str]]] = []

    def read(self, pairs: Sequence[tuple[str, str]], *, keep: int = 1) -> list[Reading]:
        self.batches.append(list(pairs))
        found = [self.answers.get(question, "") for question, _ in pairs]
        return [Reading((Span(text, 0, len(text), 1.0),) if text else (), 0.0) for text in found]


@pytest.fixture(scope="session")
def table_reader() -> type[TableReader]:
    return TableReader


@pytest.fixture(scope="session")
def titanic() -> Question:
    """A question with two readings and two reference answers."""
    return Question(
        id="titanic",
        question="When did Titanic come out?",
        readings=(
            GoldReading("When did the 1997 film Titanic come out?", ("December 1997", "1997")),
            GoldReading("When did the 1953 film Titanic come out?", ("April 1953", "1953")),
        ),
        long_answers=(
            "Two films are called Titanic. One came out in December 1997, the other in April 1953.",
            "The film of James Cameron came out in 1997. An older one had come out in 1953.",
        ),
        ambiguity="subject",
        reason="Two films share the name.",
    )
