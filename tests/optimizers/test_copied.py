"""Training text in instructions and answers is found, and what was there anyway is not."""

import dspy
import pytest
from harness import question, record
from hypothesis import given
from hypothesis import strategies as st

from polyqa.base.values import Passage
from polyqa.metrics.gold import Question, Reading
from polyqa.optimizers.copied import LEAST, copied_text

TRAIN = [
    Question(
        "t1",
        "When did the lighthouse of Cove open?",
        (Reading("When did the old lighthouse of Cove open to ships?", ("3 May 1902",)),),
        ("The old lighthouse of Cove was opened on 3 May 1902 by Ida Berg.",),
    ),
    question("t2"),
]


def program(instructions: str) -> dspy.Module:
    return dspy.Predict(dspy.Signature("question -> answer", instructions))


def found(instructions: str = "Answer.", answer: str = "", **fields: object) -> list[tuple[str, str, str]]:
    records = [record("d", question="Who was it?", answer=answer, **fields)]
    copies = copied_text(program("Answer."), program(instructions), TRAIN, records)
    return [(one.where, one.words, one.source) for one in copies]


def test_a_run_of_six_words_is_told_whole_and_with_its_source() -> None:
    told = found("Answer. If asked: the OLD Lighthouse, of Cove was opened\non 3 May, give the year.")
    (copy,) = told
    assert copy == (
        "instructions of self",
        "the OLD Lighthouse, of Cove was opened on 3 May",
        "When did the lighthouse of Cove open?",
    )


@pytest.mark.parametrize("words", ["lighthouse of Cove was opened", "of Cove was opened on, and 3 May 1902 by"])
def test_five_words_are_no_copy(words: str) -> None:
    assert found(f"Say {words} or not.") == []


def test_answers_are_looked_through_but_for_their_own_question_and_passages() -> None:
    said = "The old lighthouse of Cove was opened on 3 May 1902 by Ida Berg."
    passage = Passage(pid="1", title="Cove", text=f"It is said: {said}")
    assert found(answer=said) == [("answer to “Who was it?”", said[:-1], TRAIN[0].question)]
    assert found(answer=said, passages=(passage,)) == []
    assert found(answer=said, universe=(passage,)) == []
    assert found(answer="") == []


def test_what_the_instructions_said_before_is_no_copy() -> None:
    old = program("Begin so: the old lighthouse of Cove was opened.")
    new = program("Begin so: the old lighthouse of Cove was opened. Be brief.")
    assert copied_text(old, new, TRAIN, []) == []


@given(before=st.lists(st.sampled_from("abcdef"), max_size=9), after=st.lists(st.sampled_from("abcdef"), max_size=9))
def test_every_copy_is_found_wherever_it_stands(before: list[str], after: list[str]) -> None:
    words = ["When", "did", "the", "lighthouse", "of", "Cove", "open"]
    told = found(" ".join([*before, *words, *after]))
    assert any(" ".join(words) in run for _, run, _ in told)
    assert all(len(run.split()) >= LEAST for _, run, _ in told)


def test_where_a_script_puts_no_space_between_words_each_character_is_one() -> None:
    asked = "旧灯塔是哪一年建成的？"
    train = [Question("t", asked, (Reading(asked, ("1902年",)),))]
    (copy,) = copied_text(program("回答问题。"), program(f"回答问题。{asked}"), train, [])
    assert copy.words == asked[:-1]
