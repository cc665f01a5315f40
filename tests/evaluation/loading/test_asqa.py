from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from refusals import told

from polyqa.evaluation.loading import load_questions
from polyqa.evaluation.loading.load import read_questions
from polyqa.metrics.gold import Question, Reading

Write = Callable[..., Path]
FILM = {
    "ambiguous_question": "When did Titanic come out?",
    "qa_pairs": [
        {"question": "When did the 1953 film Titanic come out?", "short_answers": ["1953", "April 16, 1953"]},
        {"question": "When did the 1997 film Titanic come out?", "short_answers": ["1997"], "pid": "p2"},
    ],
    "annotations": [{"long_answer": "There are two films.", "knowledge": []}, {"long_answer": "In 1953 and in 1997."}],
    "ambiguity": "AmbSub",
    "reason": "Two films share the name.",
}
GAMES = {
    "ambiguous_question": "Who hosted the winter games?",
    "qa_pairs": [{"question": "Who hosted the 1998 winter games?", "short_answers": ["Nagano"]}],
}


def test_a_record_becomes_a_question(write: Write) -> None:
    (question,) = load_questions(write({"dev": {"q1": FILM}}))
    assert question == Question(
        id="q1",
        question="When did Titanic come out?",
        readings=(
            Reading("When did the 1953 film Titanic come out?", ("1953", "April 16, 1953")),
            Reading("When did the 1997 film Titanic come out?", ("1997",), "p2"),
        ),
        long_answers=("There are two films.", "In 1953 and in 1997."),
        ambiguity="AmbSub",
        reason="Two films share the name.",
    )
    assert [list(aliases) for aliases in question.answers] == [["1953", "April 16, 1953"], ["1997"]]


@pytest.mark.parametrize("empty", [{}, {"annotations": None, "ambiguity": None, "long_answer": None}])
def test_what_may_be_missing_or_empty(write: Write, empty: dict[str, None]) -> None:
    (question,) = load_questions(write({"dev": {"q1": {**GAMES, **empty}}}))
    assert (question.long_answers, question.ambiguity, question.reason) == ((), None, None)


@pytest.mark.parametrize(
    ("data", "split", "found"),
    [
        ({"dev": {"a": FILM, "b": GAMES}}, None, ["a", "b"]),  # the only split needs no name
        ({"a": FILM, "b": GAMES}, None, ["a", "b"]),
        ({"dev": [{"id": "a", **FILM}, {"id": "b", **GAMES}]}, None, ["a", "b"]),
        ({"a": FILM}, None, ["a"]),
        ({"train": {"b": GAMES, "a": FILM}, "dev": {"c": GAMES}}, "train", ["b", "a"]),  # in the order of the file
        ({"train": {"b": GAMES, "a": FILM}, "dev": {"c": GAMES}}, "dev", ["c"]),
        ({"key": {"id": "own", **FILM}}, None, ["key"]),  # a key is the id whatever the record says
    ],
)
def test_splits_and_ids(write: Write, data: Any, split: str | None, found: list[str]) -> None:
    assert [question.id for question in load_questions(write(data), split=split)] == found


def test_lines_with_one_long_answer_each(write: Write) -> None:
    record = {"id": "-7", **GAMES, "long_answer": "Nagano did in 1998.", "source": "somewhere", "align_score": 0.5}
    (question,) = load_questions(write([record], "train.jsonl"))
    assert (question.id, question.long_answers) == ("-7", ("Nagano did in 1998.",))


def test_tables_of_ones_own_have_long_answers_too(write: Write) -> None:
    told = "Nagano hosted in 1998, Turin in 2006."
    plain = f'question,answer,long_answer\nWho hosted?,Nagano,"{told}"\nWho won?,Italy,\n'
    first, second = load_questions(write(plain, "plain.csv"))
    assert (first.long_answers, second.long_answers) == ((told,), ())
    rows = f'Who hosted?,Who in 1998?,Nagano,"{told}"\nWho hosted?,Who in 2006?,Turin,\n'
    readings = f"question,reading,answer,long_answer\n{rows}"
    several = {"question": "Who hosted?", "answers": [["Nagano"], ["Turin"]], "long_answer": told}
    assert load_questions(write([several]))[0].long_answers == (told,)
    (question,) = load_questions(write(readings, "readings.csv"))
    assert load_questions(write(readings.replace(",answer,", ",answers,"), "plural.csv")) == [question]
    assert ([reading.short_answers for reading in question.readings], question.long_answers) == (
        [("Nagano",), ("Turin",)],
        (told,),
    )


def test_what_only_shares_the_name_is_no_long_answer(write: Write) -> None:
    row = {"question": "Who won?", "answer": "Italy", "long_answer": {"start_token": 7, "end_token": 90}}
    assert load_questions(write([row]))[0].long_answers == ()


def test_rows_as_the_hub_has_them(write: Write) -> None:
    pairs = {"question": ["Who hosted in 1998?", "Who hosted in 2006?"], "short_answers": [["Nagano"], ["Turin"]]}
    notes = {"knowledge": [[], []], "long_answer": ["Nagano, then Turin.", "Two cities."]}
    row = {"sample_id": 12, "ambiguous_question": "Who hosted?", "qa_pairs": pairs, "annotations": notes}
    (question,) = load_questions(write([row], "rows.jsonl"))
    assert question.id == "12"
    assert [reading.short_answers for reading in question.readings] == [("Nagano",), ("Turin",)]
    assert question.long_answers == ("Nagano, then Turin.", "Two cities.")


def test_a_pair_may_be_asked_in_other_words(write: Write) -> None:
    first, *rest = GAMES["qa_pairs"]
    pairs = [{**first, "other_questions": ["Who held the games of 1998?"]}, *rest]
    (question,) = load_questions(write({"q": {**GAMES, "qa_pairs": pairs}}))
    assert question.readings[0].questions == (first["question"], "Who held the games of 1998?")
    assert not any(reading.other_questions for reading in question.readings[1:])


def test_short_answers_are_what_people_write(write: Write) -> None:
    pairs = [
        {"question": f"Who? {n}", "short_answers": given} for n, given in enumerate(("Nagano", [1998], [2012.0], 7))
    ]
    (question,) = load_questions(write({"dev": {"a": {**GAMES, "qa_pairs": pairs}}}))
    assert [one.short_answers for one in question.readings] == [("Nagano",), ("1998",), ("2012",), ("7",)]


def test_a_question_without_pairs_is_left_out_and_counted(write: Write) -> None:
    found = read_questions(write({"dev": {"film": FILM, "none": {"ambiguous_question": "Who?", "qa_pairs": []}}}))
    assert (len(found.questions), found.left_out) == (1, {"none"})
    assert "1 question without an answer left out" in str(found)


def test_readings_that_are_labels_are_told(write: Write) -> None:
    pairs = [
        {"question": name, "short_answers": [year]} for name, year in (("North Wing", "1990"), ("South Wing", "1998"))
    ]
    record = {"ambiguous_question": "When did the wing open?", "qa_pairs": pairs}
    told = "; readings such as 'North Wing' are no questions: D-F1 and DR, which ask them of the answer, will be low"
    assert str(read_questions(write({"dev": {"a": record}}))).endswith(told)
    assert "no questions" not in str(read_questions(write({"dev": {"film": FILM}})))
    for asked in ("泰坦尼克号（1953年）是什么时候？", "متى صدر فيلم تيتانيك؟", "Πότε βγήκε;"):
        record["qa_pairs"] = [{"question": f"{asked[:-1]} {n}{asked[-1]}", "short_answers": [f"{n}"]} for n in range(2)]
        assert "no questions" not in str(read_questions(write({"dev": {"a": record}})))


def test_pairs_that_ask_the_same_stay_apart(write: Write) -> None:
    (question,) = load_questions(write({"q": {**GAMES, "qa_pairs": GAMES["qa_pairs"] * 2}}))
    assert len(question.readings) == 2


@pytest.mark.parametrize(
    ("bad", "wrong"),
    [
        ({"qa_pairs": GAMES["qa_pairs"]}, "question: Field required"),
        ({"ambiguous_question": " ", "qa_pairs": GAMES["qa_pairs"]}, "ambiguous_question: Text is blank"),
        ({"ambiguous_question": "Who?"}, "qa_pairs: Field required"),
        ({"ambiguous_question": "Who?", "qa_pairs": 3}, "qa_pairs: Input should be a valid list"),
        ({**GAMES, "qa_pairs": [{"question": "Who won?"}]}, "qa_pairs[0].short_answers: Field required"),
        ({**GAMES, "qa_pairs": [*GAMES["qa_pairs"], {"short_answers": ["She"]}]}, "qa_pairs[1].question: Field"),
        ({**GAMES, "qa_pairs": ["Who won?"]}, "qa_pairs[0]: Input should be"),
        ({**GAMES, "qa_pairs": [{"question": "Who?", "short_answers": []}]}, "qa_pairs[0].short_answers: List"),
        ({**GAMES, "qa_pairs": [{"question": "Who?", "short_answers": [True]}]}, "qa_pairs[0].short_answers[0]: Input"),
        ({**GAMES, "qa_pairs": [{"question": "Who?", "short_answers": ["\ud800"]}]}, "half a character"),
        ({**GAMES, "qa_pairs": [{**GAMES["qa_pairs"][0], "other_questions": [" "]}]}, "other_questions[0]: Text is"),
        ({**GAMES, "annotations": [{"answer": "no long answer"}]}, "annotations[0].long_answer: Field required"),
        ({**GAMES, "qa_pairs": [{}, {}]}, "(and 3 more)"),
        ("a string", "expected an object, got str"),
        (["a list"], "expected an object, got list"),
        (None, "expected an object, got NoneType"),
    ],
)
def test_the_first_bad_record_is_named_and_shown(write: Write, bad: Any, wrong: str) -> None:
    path = write({"dev": {"good": FILM, "broken-7": bad, "worse": 1}})
    message = told(load_questions, path)
    assert message.startswith(f"{path}: question 'broken-7': ")
    assert wrong in message
    assert "worse" not in message


def test_the_beginning_of_a_bad_record_is_shown(write: Write) -> None:
    message = told(load_questions, write({"dev": {"q": {"ambiguous_question": "x" * 5000, "qa_pairs": 1}}}))
    assert message.count('{"ambiguous_question": "' + "x" * 150) == 1
    assert len(message) < 500
