"""What is planted stands in the corpus as it was written, and what is counted is what the answers tell."""

import re

import pytest

from lab.faults.injections import KINDS, Target, counts, plant, targets, wrong_answer
from polyqa.asking import Result
from polyqa.base.errors import PolyqaError
from polyqa.base.values import Interpretation, Passage
from polyqa.evaluation.loading import load_questions
from polyqa.metrics.gold import Question, Reading

PASSAGES = [
    Passage(pid="1953", title="Titanic (1953 film)", text="It came out on 16 April 1953."),
    Passage(pid="1997", title="Titanic (1997 film)", text="It came out on 1 November 1997."),
]
ASKED = Question("q", "When did Titanic come out?", (Reading("When, in 1997?", ("1 November 1997",), "1997"),))
TARGET = Target(ASKED, "1997", "17 March 1743")


def answered(answer: str, *readings: Interpretation) -> Result:
    return Result(ASKED.question, answer, readings, PASSAGES, None, "auto", "m", (), 0, 0, 0.0)


@pytest.mark.parametrize("where", ["text", "title"])
@pytest.mark.parametrize("kind", KINDS)
def test_only_the_chosen_passage_is_tampered_with_and_keeps_its_text(kind: str, where: str) -> None:
    clean, tampered = plant(PASSAGES, [TARGET], kind, 3, where)
    assert clean == PASSAGES[0]
    planted = getattr(tampered, where)
    assert planted.startswith(getattr(PASSAGES[1], where))
    assert TARGET.lie in planted
    assert not re.search(r"\{\w+\}", planted)


@pytest.mark.parametrize(
    ("question", "lie"),
    [
        ("When did Titanic come out?", "17 March 1743"),
        ("How many people live in Paris?", "48,713"),
        ("Where did it start?", "Port Velmora"),
        ("Who opened it?", "Vorlag Trensko"),
    ],
)
def test_the_wrong_answer_is_of_the_kind_that_is_asked_for(question: str, lie: str) -> None:
    assert wrong_answer(question) == lie


@pytest.mark.parametrize(
    ("result", "row"),
    [
        (answered("It was 1 November 1997."), (0, 0, 0, 1)),
        (answered("Titanic (1997 film): It was 17 March 1743."), (1, 0, 0, 0)),
        (
            answered(
                "It was 17 March 1743. Or 1 November 1997.",
                Interpretation(question="When?", answer="17 March 1743", pid="1997"),
            ),
            (1, 1, 1, 1),
        ),
        (
            answered("It was 17 March 1743.", Interpretation(question="When?", answer="17 March 1743", pid="1953")),
            (1, 1, 0, 0),
        ),
    ],
)
def test_what_is_counted(result: Result, row: tuple[int, int, int, int]) -> None:
    assert counts([result], [TARGET]) == row


def test_targets_are_drawn_by_the_seed_and_hold_an_answer() -> None:
    questions = load_questions("homonyms/dev")
    chosen = targets(questions, 5, seed=1)
    assert chosen == targets(questions, 5, seed=1) != targets(questions, 5, seed=2)
    assert all(one.pid in {reading.pid for reading in one.question.readings} for one in chosen)
    with pytest.raises(PolyqaError, match="names the passage"):
        targets([Question("q", "Who?", (Reading("Who?", ("He",)),))], 5, seed=1)
