"""Of documents of one title the same section is read of each."""

from typing import Any

from found import Found

from polyqa.base.values import Passage
from polyqa.programs import RAC

CUSTOMERS = ["Acme", "Globex", "Hooli", "Initech", "Stark", "Umbrella", "Wayne", "Wonka", "Tyrell", "Soylent"]


def read(question: str, passages: int = 5, customers: int = 10, **settings: Any) -> list[str]:
    sections = [f"Contract ({name}) › {section}" for section in ("Fees", "Term") for name in CUSTOMERS[:customers]]
    found = Found(
        *(Passage(pid=title, title=title, text="It is so.") for title in ["Rules › Fees", *sections]), step=0.01
    )
    return [passage.title for passage in RAC(found, found, passages=passages, **settings).retrieve(question)]


def test_the_same_section_of_further_documents_is_read() -> None:
    fees = [f"Contract ({name}) › Fees" for name in CUSTOMERS]
    assert read("What is the fee?") == ["Rules › Fees", *fees[:7]]
    assert read("What is the fee?", passages=9) == ["Rules › Fees", *fees[:8]]
    assert read("What is the fee?", passages=1) == ["Rules › Fees"]
    assert read("What is the fee?", passages=3, customers=4) == ["Rules › Fees", *fees[:4]]
    assert read("What is the fee?", preset="paper") == ["Rules › Fees", *fees[:4]], "the papers read K passages"


def test_what_is_scored_again_are_those_sections_alone() -> None:
    scored: list[list[str]] = []

    class Noting(Found):
        def score(self, queries: Any, passages: Any) -> Any:
            scored.append([passage.title for passage in passages])
            return super().score(queries, passages)

    contracts = [f"Contract ({name}) › {section}" for name in CUSTOMERS[:4] for section in ("Fees", "Term")]
    found = Noting(*(Passage(pid=title, title=title, text="It is so.") for title in contracts))
    RAC(found, found, passages=1).retrieve("What is the fee?")
    assert scored == [contracts, contracts[2::2]]


def test_where_a_document_is_named_no_others_are_read() -> None:
    assert len(read("What is the fee of Hooli?")) == 5
