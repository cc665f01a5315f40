import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.colbert_index import read_corpus
from polyqa.colbert_index.corpus import iter_corpus
from polyqa.colbert_index.files import read_passages, write_passages

Write = Callable[[str, str | bytes], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file


@pytest.mark.parametrize(
    "record",
    [
        {"id": "p", "title": "Tea", "text": "Green."},
        {"pid": "p", "title": "Tea", "passage": "Green."},
        {"_id": "p", "title": " Tea\n", "contents": "Green."},
        {"docid": "p", "title": "Tea", "content": "Green.", "url": "ignored"},
        {"passage_id": "p", "title": "Tea", "body": "Green.", "text": None},
    ],
    ids=lambda record: " ".join(record),
)
@pytest.mark.parametrize("suffix", [".jsonl", ".JSONL", ".ndjson"])
def test_jsonl_takes_the_usual_keys(write: Write, record: Mapping[str, Any], suffix: str) -> None:
    path = write(f"corpus{suffix}", json.dumps(record) + "\n")
    assert read_corpus(path) == [Passage(pid="p", title="Tea", text="Green.")]


def test_a_question_with_documents_is_several_passages() -> None:
    documents = [{"text": "One.", "type": "correct"}, {"text": "Two.", "type": "noise"}]
    found = read_corpus(
        [{"question": "Who?", "documents": documents}, {"id": "q", "documents": [*documents[:1], "T."]}]
    )
    assert [(one.pid, one.text) for one in found[:3]] == [("1-1", "One."), ("1-2", "Two."), ("q-1", "One.")]
    assert found[3].text == "T."
    for bad in ({"documents": "Who?"}, {"documents": [{"type": "noise"}]}):
        with pytest.raises(PolyqaError, match="no text"):
            read_corpus([{"question": "Who?", **bad}])


def test_jsonl_skips_blank_lines_and_a_byte_order_mark(write: Write) -> None:
    path = write("corpus.jsonl", '\ufeff{"id": 7, "text": "a"}\r\n\r\n  \r\n{"id": "b", "text": "c"}')
    assert read_corpus(str(path)) == [Passage(pid="7", text="a"), Passage(pid="b", text="c")]


def test_a_line_separator_of_unicode_does_not_end_a_jsonl_line(write: Write) -> None:
    path = write("corpus.jsonl", '{"id": "a", "text": "one\u2028two\u0085three"}\n')
    assert read_corpus(path) == [Passage(pid="a", text="one\u2028two\u0085three")]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("1\tGreen tea.\n2\tBlack tea.\n", [("1", "", "Green tea."), ("2", "", "Black tea.")]),
        ("1\tGreen.\tTea\n2\tA kite.\n", [("1", "Tea", "Green."), ("2", "", "A kite.")]),
        ("id\ttext\ttitle\nx\tGreen.\tTea\n", [("x", "Tea", "Green.")]),
        ("Title\tText\tPID\nTea\tGreen.\tx\n", [("x", "Tea", "Green.")]),
        ("text\ttitle\nGreen.\tTea\nBlack.\tTea\n", [("0", "Tea", "Green."), ("1", "Tea", "Black.")]),
        (
            '1\tThe "best" tea, he said\r\n\r\n2\t"unclosed\r\n',
            [("1", "", 'The "best" tea, he said'), ("2", "", '"unclosed')],
        ),
        ("\ufeffid\ttext\n1\tGreen.\n", [("1", "", "Green.")]),
        ("\nid\ttext\n1\tGreen.\n", [("1", "", "Green.")]),
        ("1\t" + "word " * 40_000, [("1", "", "word " * 40_000)]),
    ],
    ids=["two columns", "ragged", "header", "other order", "no id", "quotes", "BOM", "blank line first", "long field"],
)
def test_tsv(write: Write, content: str, expected: list[tuple[str, str, str]]) -> None:
    found = read_corpus(write("corpus.tsv", content))
    assert [(passage.pid, passage.title, passage.text) for passage in found] == expected


def test_lists_of_passages_mappings_and_texts() -> None:
    passage = Passage(pid="a", title="Tea", text="Green.")
    assert read_corpus([passage, {"id": "b", "text": "Black."}, "White."]) == [
        passage,
        Passage(pid="b", text="Black."),
        Passage(pid="2", text="White."),
    ]


def test_any_iterable_will_do() -> None:
    assert read_corpus(text for text in ("one", "two")) == [
        Passage(pid="0", text="one"),
        Passage(pid="1", text="two"),
    ]


def test_passages_without_an_id_are_numbered_by_their_place(write: Write) -> None:
    path = write("corpus.jsonl", '{"text": "a"}\n\n{"id": null, "text": "b"}\n{"id": 0.5, "text": "c"}\n')
    assert [passage.pid for passage in read_corpus(path)] == ["0", "1", "0.5"]


def test_a_number_given_out_may_not_clash_with_an_id() -> None:
    with pytest.raises(PolyqaError, match=r"passage 2: the id '1' already stands at passage 1"):
        read_corpus([{"id": 1, "text": "a"}, {"text": "b"}])


def test_a_duplicate_names_both_lines(write: Write) -> None:
    path = write("corpus.tsv", "1\ta\n2\tb\n1\tc\n")
    with pytest.raises(PolyqaError, match=f"^{re.escape(str(path))}:3: the id '1' already stands at .*:1;"):
        read_corpus(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("c.jsonl", '{"id": 1, "text": "a"}\n\n{"id": 2, "text"\n', r"c\.jsonl:3: not a JSON object"),
        ("c.jsonl", '{"id": 1, "text": "a"}\n[1, 2]\n', r"c\.jsonl:2: expected an object .* got list"),
        ("c.jsonl", "null\n", r"c\.jsonl:1: expected an object .* got NoneType"),
        ("c.jsonl", '{"id": 1, "title": "a"}\n', r"c\.jsonl:1: no text; keys are id, title"),
        ("c.jsonl", '{"id": 1, "text": 5}\n', r"c\.jsonl:1: no text"),
        ("c.jsonl", "{}\n", r"c\.jsonl:1: no text; keys are none"),
        ("c.jsonl", '{"id": "x", "text": " \\n\\t"}\n', r"c\.jsonl:1: passage 'x' has an empty text"),
        ("c.jsonl", '{"text": "a"}\n{"text": "x \\ud800 y"}\n', r"c\.jsonl:2: passage '1' holds half a character"),
        ("c.jsonl", '{"text": "a"}\n{"id": ' + "1" * 5000 + ', "text": "x"}\n', r"c\.jsonl:2: not a JSON object"),
        ("c.jsonl", '{"text": "a"}\n' + "[" * 100_000 + "\n", r"c\.jsonl:2: not a JSON object"),
        ("c.jsonl", "", r"c\.jsonl holds no passage"),
        ("c.jsonl", "\n \n", r"c\.jsonl holds no passage"),
        ("c.jsonl", b'{"id": 1, "text": "caf\xe9"}\n', r"c\.jsonl is not UTF-8 text"),
        ("c.tsv", b"1\tcaf\xe9\n", r"c\.tsv is not UTF-8 text"),
        ("c.tsv", "1\ta\n2\n", r"c\.tsv:2: 1 columns, expected id <TAB> text <TAB> title: '2'"),
        ("c.tsv", "1\ta\tb\tc\n", r"c\.tsv:1: 4 columns"),
        ("c.tsv", "id\ttext\n1\ta\tb\n", r"c\.tsv:2: 3 columns, expected id <TAB> text:"),
        ("c.tsv", "1\ta\n2\t \n", r"c\.tsv:2: passage '2' has an empty text"),
        ("c.tsv", "id\ttext\n", r"c\.tsv holds no passage"),
        ("c.csv", "1,a\n", r"unknown corpus format '\.csv'; use \.jsonl, \.tsv or \.parquet"),
        ("corpus", "1\ta\n", r"unknown corpus format 'without a suffix'"),
    ],
)
def test_faults_are_told_with_their_place_on_one_line(
    write: Write, name: str, content: str | bytes, message: str
) -> None:
    with pytest.raises(PolyqaError, match=message) as caught:
        read_corpus(write(name, content))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("path", "message"), [("missing.jsonl", "is not a file; give documents"), (".", "holds no file in .jsonl, ")]
)
def test_what_holds_no_corpus_is_refused(tmp_path: Path, path: str, message: str) -> None:
    with pytest.raises(PolyqaError, match=message):
        read_corpus(tmp_path / path)


def test_a_folder_is_read_file_after_file_by_name(write: Write, tmp_path: Path) -> None:
    write("b.jsonl", '{"id": "2", "text": "second"}\n')
    write("a.tsv", "1\tfirst\n")
    write("notes.txt", "no corpus")
    write(".hidden.tsv", "9\tnobody sees this\n")
    (tmp_path / "c").mkdir()
    write("c/d.jsonl", '{"id": "3", "text": "third"}\n')
    assert [(one.pid, one.text) for one in read_corpus(tmp_path)] == [("1", "first"), ("2", "second"), ("3", "third")]
    write("c/e.jsonl", '{"id": "1", "text": "again"}\n')
    with pytest.raises(PolyqaError, match=r"e\.jsonl:1: the id '1' already stands at .*a\.tsv:1"):
        read_corpus(tmp_path)


def test_parquet_is_read_by_its_columns(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {"id": ["1", "2"], "title": ["T", None], "text": ["first", "second"], "more": [[0.5], [0.1]]}
    pq.write_table(pa.table(columns), tmp_path / "c.parquet")
    assert read_corpus(tmp_path / "c.parquet") == [
        Passage(pid="1", title="T", text="first"),
        Passage(pid="2", text="second"),
    ]
    pq.write_table(pa.table({"more": [1]}), tmp_path / "none.parquet")
    with pytest.raises(PolyqaError, match=r"none\.parquet:1: no text"):
        read_corpus(tmp_path / "none.parquet")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(PolyqaError, match=r"broken\.parquet is not a Parquet file") as caught:
        read_corpus(tmp_path / "broken.parquet")
    assert "\n" not in str(caught.value)


def test_a_corpus_is_read_no_further_than_it_is_wanted() -> None:
    taken: list[int] = []

    def endless() -> Iterator[str]:
        for number in count():
            taken.append(number)
            yield f"passage {number}"

    corpus = iter_corpus(endless())
    assert [next(corpus)[1].text for _ in range(3)] == ["passage 0", "passage 1", "passage 2"]
    assert taken == [0, 1, 2]


@pytest.mark.parametrize(
    ("corpus", "message"),
    [
        ([], "the list of passages holds no passage"),
        (["fine", " "], "passage 2: passage '1' has an empty text"),
        ([Passage(pid="p", text="")], "passage 1: passage 'p' has an empty text"),
        (["fine", 5], "passage 2: expected an object .* got int"),
        ([Passage(pid="p", text="a"), {"id": "p", "text": "b"}], "the id 'p' already stands at passage 1"),
    ],
)
def test_faults_of_lists_are_told_with_their_place(corpus: list[Any], message: str) -> None:
    with pytest.raises(PolyqaError, match=message):
        read_corpus(corpus)


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
_PASSAGES = st.lists(
    st.builds(Passage, pid=_TEXT.filter(str.strip), title=_TEXT.map(str.strip), text=_TEXT.filter(str.strip)),
    min_size=1,
    max_size=8,
    unique_by=lambda passage: passage.pid,
)


@settings(max_examples=50)
@given(passages=_PASSAGES, ascii_only=st.booleans())
def test_jsonl_keeps_every_character(
    tmp_path_factory: pytest.TempPathFactory, passages: list[Passage], ascii_only: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "round_trip.jsonl"
    lines = [json.dumps({"id": p.pid, "title": p.title, "text": p.text}, ensure_ascii=ascii_only) for p in passages]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    assert read_corpus(path) == passages


@settings(max_examples=50)
@given(passages=_PASSAGES, removed=st.lists(st.integers(0, 8)))
def test_an_index_keeps_every_character_and_every_gap(
    tmp_path_factory: pytest.TempPathFactory, passages: list[Passage], removed: list[int]
) -> None:
    positions: list[Passage | None] = list(passages)
    for place in removed:
        positions.insert(place, None)
    path = tmp_path_factory.getbasetemp() / "positions.jsonl"
    write_passages(path, positions)
    assert read_passages(path) == positions
