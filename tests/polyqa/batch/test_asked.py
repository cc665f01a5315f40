from pathlib import Path

import pytest

from polyqa.base.errors import PolyqaError
from polyqa.batch.asked import Asked, read_asked

TITANIC, MERCURY = "When did Titanic come out?", "What is Mercury?"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("q.txt", f"{TITANIC}\n\n{MERCURY}", [("1", TITANIC), ("2", MERCURY)]),
        ("q.txt", f"\ufeff{TITANIC}\r\n", [("1", TITANIC)]),
        (
            "q.jsonl",
            f'{{"id": "a", "question": "{TITANIC}", "more": 1}}\n"{MERCURY}"\n',
            [("a", TITANIC), ("2", MERCURY)],
        ),
        ("q.jsonl", f'{{"id": 7, "ambiguous_question": "{TITANIC}"}}', [("7", TITANIC)]),
        ("q.json", f'["{TITANIC}", "{MERCURY}"]', [("1", TITANIC), ("2", MERCURY)]),
        ("q.json", f'{{"a": {{"question": "{TITANIC}"}}}}', [("a", TITANIC)]),
        ("q.jsonl", '{"id": "empty", "question": ""}', [("empty", "")]),
    ],
)
def test_questions_of_a_file(name: str, text: str, expected: list[tuple[str, str]], tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert read_asked(path) == read_asked(str(path)) == [Asked(*one) for one in expected]


def test_questions_of_python_and_of_a_shipped_set() -> None:
    assert read_asked([TITANIC, {"id": "m", "question": MERCURY}, Asked("x", "y")]) == [
        Asked("1", TITANIC),
        Asked("m", MERCURY),
        Asked("x", "y"),
    ]
    shipped = read_asked("homonyms/dev")
    assert len({one.id for one in shipped}) == len(shipped) > 50


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "q.jsonl",
            '{"question": "a"}\n{"query": "b"}',
            r'q\.jsonl: line 2: there is no "question" that is a text: {"query"',
        ),
        ("q.jsonl", '{"question": 3}', 'there is no "question"'),
        ("q.jsonl", "[1]", "a question is a text, or an object with one"),
        ("q.jsonl", '{"id": [1], "question": "a"}', "an id is a text or a whole number"),
        ("q.jsonl", '{"id": "a", "question": "x"}\n{"id": "a", "question": "y"}', "Two questions have the id 'a'"),
        ("q.jsonl", '{"id": "2", "question": "x"}\n"y"', "Two questions have the id '2'"),
        ("q.jsonl", "{", r"line 1, column \d+: not JSON"),
        ("q.jsonl", "", "the file is empty"),
        ("q.txt", "\n \n", "There is no question in"),
        ("missing/q.txt", None, "cannot be read"),
        ("missing/q.jsonl", None, "cannot be read"),
        ("q.csv", "a", "no questions are called so|cannot be read|unknown suffix"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_in_a_line(name: str, text: str | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(PolyqaError, match=message) as caught:
        read_asked(path)
    assert "\n" not in str(caught.value)


def test_nothing_asked_is_refused() -> None:
    with pytest.raises(PolyqaError, match="Nothing is asked"):
        read_asked([])
