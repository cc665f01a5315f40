import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.questions import Question, Reading, read_asqa
from signatures import PolyqaError

FILM = {
    "ambiguous_question": "When did Titanic come out?",
    "qa_pairs": [
        {"question": "When did the 1953 film Titanic come out?", "short_answers": ["1953", "April 16, 1953"]},
        {"question": "When did the 1997 film Titanic come out?", "short_answers": ["1997"], "pid": "p2"},
    ],
    "annotations": [{"long_answer": "There are two films."}, {"long_answer": "In 1953 and in 1997."}],
    "ambiguity": "AmbSub",
    "reason": "Two films share the name.",
}
GAMES = {
    "ambiguous_question": "Who hosted the winter games?",
    "qa_pairs": [{"question": "Who hosted the 1998 winter games?", "short_answers": ["Nagano"]}],
}


def write(folder: Path, data: Any) -> Path:
    path = folder / "questions.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


def test_a_record_becomes_a_question(tmp_path: Path) -> None:
    (question,) = read_asqa(write(tmp_path, {"dev": {"q1": FILM}}))
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


def test_what_may_be_missing(tmp_path: Path) -> None:
    (question,) = read_asqa(write(tmp_path, {"dev": {"q1": GAMES}}))
    assert (question.long_answers, question.ambiguity, question.reason) == ((), None, None)


def test_a_split_is_taken_by_name_in_the_order_of_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, {"train": {"b": GAMES, "a": FILM}, "dev": {"c": GAMES}})
    assert [question.id for question in read_asqa(path, "train")] == ["b", "a"]
    assert [question.id for question in read_asqa(str(path), split="dev")] == ["c"]


def test_the_only_split_needs_no_name(tmp_path: Path) -> None:
    assert [question.id for question in read_asqa(write(tmp_path, {"dev": {"a": FILM, "b": GAMES}}))] == [
        "a",
        "b",
    ]


def test_a_file_without_splits(tmp_path: Path) -> None:
    path = write(tmp_path, {"a": FILM, "b": GAMES})
    assert [question.id for question in read_asqa(path)] == ["a", "b"]


def test_a_file_without_splits_may_hold_one_question(tmp_path: Path) -> None:
    assert [question.id for question in read_asqa(write(tmp_path, {"a": FILM}))] == ["a"]


@pytest.mark.parametrize(
    "bad",
    [
        {"qa_pairs": GAMES["qa_pairs"]},
        {"ambiguous_question": "Who?"},
        {"ambiguous_question": "Who?", "qa_pairs": []},
        {"ambiguous_question": "Who?", "qa_pairs": None},
        {"ambiguous_question": "Who?", "qa_pairs": [{"question": "Who won?"}]},
        {"ambiguous_question": "Who?", "qa_pairs": [{"short_answers": ["She"]}]},
        {"ambiguous_question": "Who?", "qa_pairs": ["Who won?"]},
        {**GAMES, "annotations": [{"answer": "no long answer"}]},
        "a string",
        ["a list"],
        None,
    ],
)
def test_the_first_bad_record_is_named_and_shown(tmp_path: Path, bad: Any) -> None:
    path = write(tmp_path, {"dev": {"good": FILM, "broken-7": bad, "worse": 1}})
    with pytest.raises(PolyqaError, match="question 'broken-7' is not of ASQA's schema") as caught:
        read_asqa(path)
    message = str(caught.value)
    assert path.name in message
    assert json.dumps(bad, ensure_ascii=False) in message
    assert "\n" not in message


def test_a_long_bad_record_is_cut(tmp_path: Path) -> None:
    path = write(tmp_path, {"dev": {"q": {"text": "x" * 5000}}})
    with pytest.raises(PolyqaError) as caught:
        read_asqa(path)
    assert 200 <= len(str(caught.value)) - len(str(path)) < 400


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(PolyqaError, match=r"nowhere\.json cannot be read: No such file"):
        read_asqa(tmp_path / "nowhere.json")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(PolyqaError, match="cannot be read"):
        read_asqa(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "id,question\n1,Who?"])
def test_a_file_that_is_not_json(tmp_path: Path, text: str) -> None:
    with pytest.raises(PolyqaError, match="is not JSON"):
        read_asqa(write(tmp_path, text))


def test_a_file_in_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "latin.json"
    path.write_bytes('{"dev": {"q": "Zürich"}}'.encode("latin-1"))
    with pytest.raises(PolyqaError, match="is not JSON"):
        read_asqa(path)


@pytest.mark.parametrize(("data", "kind"), [([FILM], "list"), ("text", "str"), (3, "int")])
def test_a_file_that_is_no_object(tmp_path: Path, data: Any, kind: str) -> None:
    with pytest.raises(PolyqaError, match=f"expected an object of questions, got {kind}"):
        read_asqa(write(tmp_path, json.dumps(data)))


def test_a_split_that_is_a_list_is_the_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(PolyqaError, match=r"questions\.json"):
        read_asqa(write(tmp_path, {"dev": [FILM]}))


def test_an_unknown_split_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, {"train": {"a": FILM}, "dev": {"b": GAMES}})
    with pytest.raises(PolyqaError, match="unseen"):
        read_asqa(path, "unseen")


def test_a_short_answer_that_is_no_list_is_not_cut_into_letters(tmp_path: Path) -> None:
    record = {"ambiguous_question": "Who?", "qa_pairs": [{"question": "Who won?", "short_answers": "Nagano"}]}
    try:
        (question,) = read_asqa(write(tmp_path, {"dev": {"q": record}}))
    except PolyqaError:
        return
    assert question.readings[0].short_answers == ("Nagano",)
