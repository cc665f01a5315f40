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
        ("queries.tsv", f"7\t{TITANIC}\n8\t{MERCURY}\n", [("7", TITANIC), ("8", MERCURY)]),
        ("nq-test.qa.csv", f"{TITANIC}\t['1997']\n{MERCURY}\t[\"a 'planet'\"]\n", [("1", TITANIC), ("2", MERCURY)]),
        ("q.csv", f'id,question,answer\n7,"{TITANIC}",1997\n', [("7", TITANIC)]),
        *(
            ("q.jsonl", f'{{"{key}": "x", "question": "{TITANIC}"}}', [("x", TITANIC)])
            for key in ("_id", "sample_id", "question_id", "QuestionId", "qid", "example_id")
        ),
        ("queries.jsonl", f'{{"_id": "x", "text": "{TITANIC}", "metadata": {{}}}}', [("x", TITANIC)]),
        ("q.jsonl", f'{{"id": 4, "question": "{TITANIC}", "edited_question": "a"}}\n' * 2, [("4", TITANIC)]),
        (
            "q.jsonl",
            "".join(f'{{"question": "{TITANIC}", "reading": {cell}}}\n' for cell in ("null", '"a"')),
            [(TITANIC, TITANIC)],
        ),
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
            '{"question": "a"}\n{"quest": "b"}',
            r'q\.jsonl: line 2: no question record: question: Field required: {"quest"',
        ),
        ("q.jsonl", '{"question": 3}', "no question record: question: Input should be"),
        ("q.jsonl", "[1]", "expected an object, got list"),
        ("q.jsonl", '{"id": [1], "question": "a"}', "id: Value error, an id is a text or a number, not"),
        (
            "q.jsonl",
            '{"id": "a", "question": "x"}\n{"id": "a", "question": "y"}',
            "line 2: two questions have the id 'a'",
        ),
        ("q.jsonl", '{"id": "2", "question": "x"}\n"y"', "line 2: two questions have the id '2'"),
        ("corpus.jsonl", '{"id": "a", "title": "Tea", "text": "x"}', "no question record: question: Field required"),
        ("q.jsonl", "{", r"line 1, column \d+: not JSON"),
        ("q.jsonl", "", "There is no question in"),
        ("q.json", "", "the file is empty"),
        ("q.txt", "\n \n", "There is no question in"),
        ("missing/q.txt", None, "cannot be read"),
        ("missing/q.jsonl", None, "cannot be read"),
        ("q.csv", "a", r"the first line must name the columns"),
        ("q.xlsx", "a", "unknown suffix '.xlsx'"),
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
