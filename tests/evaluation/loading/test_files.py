import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from refusals import told

from polyqa.evaluation.loading import load_questions
from polyqa.evaluation.loading.load import read_questions

Write = Callable[..., Path]
ONE = {"question": "who built it", "answer": ["Eve"]}
TWO = {"question": "who broke it", "answer": ["Fay"]}


def asked(path: Path, split: str | None = None) -> list[str]:
    return [question.question for question in load_questions(path, split=split)]


def refused(path: Path, split: str | None = None) -> str:
    message = told(load_questions, path, split=split)
    assert message.startswith(str(path))
    return message.removeprefix(str(path))


@pytest.mark.parametrize("name", ["q.jsonl", "q.ndjson", "q.JSONL"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n  \n", "\r"])
def test_lines(write: Write, name: str, end: str) -> None:
    assert asked(write(end.join([json.dumps(ONE), json.dumps(TWO)]), name)) == ["who built it", "who broke it"]


def test_a_line_separator_of_unicode_does_not_end_a_line(write: Write) -> None:
    text = json.dumps({**ONE, "question": "one\u2028two\x85three"}, ensure_ascii=False)
    assert asked(write(text, "q.jsonl")) == ["one\u2028two\x85three"]


@pytest.mark.parametrize("name", ["q.json", "q.jsonl"])
def test_a_byte_order_mark(write: Write, name: str) -> None:
    text = json.dumps(ONE) if name == "q.jsonl" else json.dumps([ONE])
    assert asked(write(b"\xef\xbb\xbf" + text.encode(), name)) == ["who built it"]


@pytest.mark.parametrize("name", ["q.json", "q.jsonl"])
def test_another_encoding(write: Write, name: str) -> None:
    record = {**ONE, "question": "who is Zoë"}
    text = json.dumps(record if name == "q.jsonl" else [record], ensure_ascii=False)
    assert asked(write(text.encode("utf-16"), name)) == ["who is Zoë"]
    for packed in (name, f"{name}.gz"):
        assert asked(write(gzip.compress(text.encode()), packed)) == ["who is Zoë"]
    assert asked(write(text.encode(), f"{name}.gz")) == ["who is Zoë"]
    told = refused(write(text.encode("latin-1"), name))
    assert told.startswith(": line 1: this is not UTF-8 text; if '")
    assert "Zoë" in told
    assert f"iconv -f WINDOWS-1252 -t UTF-8 {name} > utf8-{name}" in told
    assert "this is no whole gzip file" in refused(write(gzip.compress(text.encode() * 99)[:-20], f"{name}.gz"))


BAD = {"question": "who sold it"}
NO_QUESTION = ": there is no question in it"


@pytest.mark.parametrize(
    ("data", "name", "message"),
    [
        (
            f'{json.dumps(ONE)}\n\n{{"question": "who", "answer"\n{json.dumps(TWO)}\n',
            "q.jsonl",
            ': line 3, column 29: not JSON (Expecting \':\' delimiter): {"question": "who", "answer"',
        ),
        ([ONE, TWO, BAD], "q.jsonl", f": line 3: no plain record: answers: Field required: {json.dumps(BAD)}"),
        *((text, "q.json", ": the file is empty") for text in ("", " \n\n", "\ufeff")),
        *((text, name, NO_QUESTION) for name in ("q.jsonl", "q.csv") for text in ("", " \n\n", "\ufeff")),
        *((text, "q.json", NO_QUESTION) for text in ("[]", "{}", '{"dev": []}', '{"dev": {}}')),
    ],
)
def test_what_is_wrong_is_all_that_is_told(write: Write, data: Any, name: str, message: str) -> None:
    assert refused(write(data, name)) == message


@pytest.mark.parametrize(
    ("data", "name", "split", "message"),
    [
        ("[1,\n}", "q.json", None, ": line 2, column 1: not JSON (Expecting value"),
        ([ONE, BAD], "q.json", None, ": record 2: no plain record: "),
        ({"dev": [ONE, BAD]}, "q.json", None, ": split 'dev': record 2: no plain record: "),
        ('[{"a": ' + "[" * 900 + "]" * 900 + "}]", "q.json", None, "no format has these keys"),  # and is shown
        (f'{{"a": {json.dumps(ONE)}, "a": 1}}', "q.json", None, "the key 'a' stands twice in one object"),
        ("question,answer", "q.xlsx", None, "questions are read from .json, .jsonl, .ndjson"),
        ("question,answer", "q", None, "questions are read from .json, .jsonl, .ndjson"),
        (json.dumps(ONE), "q.json", None, "got one record"),
        ([ONE], "q.json", "dev", "leave the split out"),
        ({"a": ONE}, "q.json", "dev", "leave the split out"),
        ([ONE], "q.jsonl", "dev", "leave the split out"),
    ],
)
def test_what_is_refused(write: Write, data: Any, name: str, split: str | None, message: str) -> None:
    assert message in refused(write(data, name), split)


def test_what_stands_around_the_break_is_shown_in_a_long_line(write: Write) -> None:
    message = refused(write(json.dumps([ONE] * 1000) + "here", "q.json"))
    assert message.endswith("here")
    assert "Extra data; a file of one record a line is named .jsonl" in message
    assert len(message) < 400


@pytest.mark.parametrize("name", ["q.json", "q.jsonl"])
@pytest.mark.parametrize("text", ["[" * 100_000, "[" + "9" * 5000 + "]"], ids=["nested", "a large number"])
def test_json_that_python_does_not_take(write: Write, name: str, text: str) -> None:
    message = refused(write(text, name))
    assert "this cannot be taken as JSON (" in message
    assert (": line 1: " in message) == (name == "q.jsonl")
    assert len(message) < 400


@pytest.mark.parametrize("name", ["folder", "folder.json"])
def test_what_is_no_file(tmp_path: Path, name: str) -> None:
    assert refused(tmp_path / "nowhere.json") == ": the file cannot be read: No such file or directory"
    (tmp_path / name).mkdir()
    assert "this folder holds no questions; they are read from .json, .jsonl" in refused(tmp_path / name)


@pytest.mark.parametrize("data", ["text", 3, None, True])
def test_json_that_holds_no_records(write: Write, data: Any) -> None:
    kind = type(data).__name__
    assert f"expected a list or an object of records, got {kind}" in refused(write(json.dumps(data)))
    expected = "an object, got str" if kind == "str" else f"a list or an object of records, got {kind}"
    assert f"expected {expected}" in refused(write({"dev": data}))


def test_splits_are_listed(write: Write) -> None:
    path = write({"train": [ONE], "dev": [TWO]})
    assert asked(path, "dev") == ["who broke it"]
    assert refused(path) == f": name a split; there are train, dev (--split NAME, or {path}@NAME)"
    assert [one.question for one in load_questions(f"{path}@dev")] == ["who broke it"]
    assert "names the split 'dev', but 'train' is asked for" in told(load_questions, f"{path}@dev", split="train")
    assert refused(path, "test") == ": there is no split 'test'; there are train, dev"
    assert refused(write({"dev": [ONE]}), "test") == ": there is no split 'test'; there are dev"


def test_rows_without_an_answer_are_left_out_and_counted(tmp_path: Path) -> None:
    table, lines = tmp_path / "q.csv", tmp_path / "q.jsonl"
    table.write_text("question,answer\nWho?,Ada\nWhen?,\n", encoding="utf-8")
    lines.write_text('{"question": "Who?", "answer": "Ada"}\n{"question": "When?", "answer": " "}\n', encoding="utf-8")
    for path in (table, lines):
        found = read_questions(path)
        assert ([one.question for one in found.questions], len(found.left_out)) == (["Who?"], 1)
