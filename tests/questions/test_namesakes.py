"""A language model asks of two namesakes at once; what it does not find again is not taken."""

import pytest
from harness import scripted

from polyqa.base.values import Passage
from polyqa.questions.namesakes import AskedOfNamesakes, ask_namesakes, namesakes

PASSAGES = [
    Passage(pid="a", title="Falcon 1", text="Falcon 1 was released in 2016. Ida Berg led it."),
    Passage(pid="b", title="Falcon 2", text="Falcon 2 was released in 2018. Max Moe led it."),
    Passage(pid="c", title="Falcon 3", text="Falcon 3 was released in 2022. It is blue."),
    Passage(pid="d", title="Canteen", text="The canteen opens at noon."),
]
ASKED = {"question": "When was Falcon released?", "first_answer": "2016", "second_answer": "2018"}


def reply(asked: dict[str, str], again: dict[str, str]):  # type: ignore[no-untyped-def]
    """Return what fills both signatures: the one has two passages, the other one.

    `again` has the answers to questions that hold a text, the first that fits counts.
    """

    def answer(message: str) -> str:
        if "[2]" in message:
            return "\n\n".join(f"## {name}\n{value}" for name, value in asked.items())
        question = message.rpartition("question")[2]
        return next(found for name, found in again.items() if name in question)

    return answer


def test_a_pair_is_asked_and_its_answers_are_found_again() -> None:
    pairs = namesakes(PASSAGES)
    assert [(about.base, one.pid, other.pid) for (about, one), (_, other) in pairs] == [
        ("Falcon", "a", "b"),
        ("Falcon", "b", "c"),
        ("Falcon", "c", "a"),
    ]
    steps: list[int] = []
    with scripted(reply(ASKED, {"Falcon 1": "2016", "Falcon 2": "in 2018"})) as (lm, server):
        found = ask_namesakes(pairs[:1], lm, threads=1, step=lambda: steps.append(1))
        assert len(server.requests) == 3
    assert found == [AskedOfNamesakes("When was Falcon released?", (("2016", "a"), ("2018", "b")))]
    assert steps == [1]


def test_a_name_of_several_words_needs_no_article() -> None:
    passages = [
        Passage(pid="a", title="Leave › Annual leave", text="Up to 240 hours of annual leave are kept."),
        Passage(pid="b", title="Leave › Advanced annual leave", text="Up to 56 hours of annual leave are advanced."),
    ]
    asked = {"question": "How many hours of annual leave?", "first_answer": "240", "second_answer": "56"}
    with scripted(reply(asked, {"advanced annual leave?": "56", "annual leave?": "240"})) as (lm, _):
        (question,) = ask_namesakes(namesakes(passages), lm, threads=1)
    assert question == AskedOfNamesakes("How many hours of annual leave?", (("240", "a"), ("56", "b")))


@pytest.mark.parametrize(
    ("asked", "again"),
    [
        pytest.param({**ASKED, "question": "None"}, {}, id="no question"),
        pytest.param({**ASKED, "question": "When was it released?"}, {}, id="without the name"),
        pytest.param({**ASKED, "second_answer": "2019"}, {}, id="not in its passage"),
        pytest.param({**ASKED, "first_answer": "released", "second_answer": "released"}, {}, id="one answer"),
        pytest.param(ASKED, {"Falcon 1": "2016", "Falcon 2": "None"}, id="not found again"),
        pytest.param(ASKED, {"Falcon 1": "Ida Berg", "Falcon 2": "2018"}, id="another answer"),
    ],
)
def test_what_is_not_taken(asked: dict[str, str], again: dict[str, str]) -> None:
    with scripted(reply(asked, again)) as (lm, _):
        assert ask_namesakes(namesakes(PASSAGES)[:1], lm, threads=1) == []
