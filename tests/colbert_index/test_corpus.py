import csv
import gzip
import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import time
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.colbert_index import read_corpus
from polyqa.colbert_index.corpus import Corpus, content_id
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
        {"docid": "p", "Title": "Tea", "content": "Green.", "embedding": [0.5]},
        {"passage_id": "p", "title": "Tea", "body": "Green.", "text": None},
        {"chunk_id": "p", "title": ["Tea"], "text": ["Green."]},
        {"ID": "p", "wikipedia_title": "Tea", "text": ["Tea\n", "Green.\n"]},
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


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("1\tGreen tea.\n2\tBlack tea.\n", [("1", "", "Green tea."), ("2", "", "Black tea.")]),
        ("1\tGreen.\tTea\n2\tA kite.\n", [("1", "Tea", "Green."), ("2", "", "A kite.")]),
        ("id\ttext\ttitle\nx\tGreen.\tTea\n", [("x", "Tea", "Green.")]),
        ("Title\tText\tPID\nTea\tGreen.\tx\n", [("x", "Tea", "Green.")]),
        (
            "text\ttitle\nGreen.\tTea\nBlack.\tTea\n",
            [("f2332c6f1a2abaff", "Tea", "Green."), ("d2d04561369b1f3d", "Tea", "Black.")],
        ),
        (
            '1\tThe "best" tea, he said\r\n\r\n2\t"unclosed\r\n',
            [("1", "", 'The "best" tea, he said'), ("2", "", '"unclosed')],
        ),
        ("\nid\ttext\n1\tGreen.\n", [("1", "", "Green.")]),
        ("1\t" + "word " * 40_000, [("1", "", "word " * 40_000)]),
    ],
    ids=["two columns", "ragged", "header", "other order", "no id", "quotes", "blank line first", "long field"],
)
def test_tsv(write: Write, content: str, expected: list[tuple[str, str, str]]) -> None:
    found = read_corpus(write("corpus.tsv", content))
    assert [(passage.pid, passage.title, passage.text) for passage in found] == expected


@pytest.mark.parametrize(
    "content",
    [
        'id;text;price, net\n1;Green, and hot;2,50\n2;"Black; cold";3\n',
        '"id, ours";"id";"text"\n7;1;"Green, and hot"\n8;2;"Black; cold"\n',
        'id,text\n1,"Green, and hot"\n2,"Black; cold"\n',
        "id|text\n1|Green, and hot\n2|Black; cold\n",
    ],
)
def test_what_parts_the_cells_is_what_all_rows_have(content: str, write: Write) -> None:
    found = read_corpus(write("corpus.csv", content))
    assert [(one.pid, one.text) for one in found] == [("1", "Green, and hot"), ("2", "Black; cold")]


def test_iterables_of_passages_mappings_and_texts() -> None:
    passage = Passage(pid="a", title="Tea", text="Green.")
    assert read_corpus(iter([passage, {"id": "b", "text": "Black."}, "White."])) == [
        passage,
        Passage(pid="b", text="Black."),
        Passage(pid="0802e80711db3c0c", text="White."),
    ]


def test_passages_without_an_id_get_one_of_their_content(write: Write) -> None:
    path = write("corpus.jsonl", '{"text": "a"}\n\n{"id": null, "text": "b"}\n{"id": 0.5, "text": "c"}\n')
    first, second, third = read_corpus(path)
    assert (first.pid, second.pid, third.pid) == (content_id(first), content_id(second), "0.5")
    again = read_corpus(write("more.jsonl", '{"id": "", "text": "new"}\n{"text": "a"}\n'))
    assert [passage.pid for passage in again] == [content_id(again[0]), first.pid]  # adding it is a repetition


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Da Real World Da Real World is an album.", "Da Real World"),
        ("Manic (2017 film) Manic is a documentary.", "Manic (2017 film)"),
        ("Keyes, Oklahoma Keyes is a town.", "Keyes, Oklahoma"),
        (
            "Sandusky Township, Crawford County, Ohio Sandusky Township is one.",
            "Sandusky Township, Crawford County, Ohio",
        ),
        ("Thomas Ley, 1st Earl Thomas Ley, 1st Earl (1577 – 1653) was a politician.", "Thomas Ley, 1st Earl"),
        ("2012 Summer Olympics 2012 Summer Olympics took place.", "2012 Summer Olympics"),
        ("Roanoke Colony The Roanoke Colony was an attempt.", "Roanoke Colony"),
        ("Value sensitive design value Sensitive Design is one.", "Value sensitive design"),
        ("David Hancock (cricketer) Sir David Arthur Hancock was one.", "David Hancock (cricketer)"),
        ("Flight 63 (1943) On 28 July 1943 American Airlines Flight 63 was one.", "Flight 63 (1943)"),
        ('Shy Boy (song) "Shy Boy" is one.', "Shy Boy (song)"),
        ("Apple (AAPL) CEO Tim Cook spoke.", ""),
        ("Apple (AAPL) shares fell as Apple warned.", ""),
        ("Hancock David (cricketer) David Hancock was one.", ""),
        ("Ohio (513) 564-7650 is a number in Ohio.", ""),
        ("Ohio (state) " + "A word and another, then " * 3 + "Ohio.", ""),
        ("Bora Bora is an island.", ""),
        ("The The is a band.", ""),
        ("He was born. He was born again.", ""),
        ("Never give up never give up.", ""),
        ("That is that is what he said.", ""),
        ("The more the more you see.", ""),
        ("very very very very good", ""),
        ("Woolstone, Milton Keynes Great Woolstone and Little Woolstone are villages.", ""),
        ("Manic (2017 film) is a documentary.", ""),
    ],
)
def test_a_title_that_stands_before_a_text_without_one(write: Write, text: str, title: str) -> None:
    own = {"id": "2", "title": "Own", "text": text}
    corpus = Corpus(write("corpus.jsonl", "\n".join(map(json.dumps, ({"id": "1", "text": text}, own)))))
    found, kept = corpus
    assert found.title == title
    assert found.indexed_text == text  # nothing is lost, and what is indexed is the same
    assert (kept.title, kept.text) == ("Own", text)
    assert ("1 title from the beginning of texts" in corpus.summary()) == bool(title)


def test_what_is_empty_or_repeated_is_left_out_and_counted(write: Write) -> None:
    rows = ["one", "", {"id": "1", "text": "two"}, {"id": "2", "text": None}, "one", {"text": " \n"}]
    corpus = Corpus(rows)
    assert [passage.text for passage in read_corpus(corpus)] == ["one", "two"]
    assert (corpus.passages, corpus.empty, corpus.repeated) == (2, 3, 1)
    assert corpus.summary().endswith(
        "2 passages; ids made from the content; 3 empty passages left out; 1 repeated passage left out"
    )
    with pytest.warns(UserWarning, match="the list of passages: 3 empty passages left out; 1 repeated passage left"):
        read_corpus(rows)
    with pytest.raises(PolyqaError, match="holds no passage, only 2 rows without a text"):
        read_corpus(["", " "])


def test_a_duplicate_names_both_lines(write: Write) -> None:
    path = write("corpus.tsv", "1\ta\n2\tb\n1\tc\n")
    with pytest.raises(PolyqaError, match=f"^{re.escape(str(path))}: line 3: the id '1' already stands at .*: line 1;"):
        read_corpus(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("c.jsonl", '{"id": 1, "text": "a"}\n\n{"id": 2, "text"\n', r"c\.jsonl: line 3, column 17: not JSON"),
        ("c.jsonl", '{"id": 1, "text": "a"}\n[1, 2]\n', r"c\.jsonl: line 2: expected an object, got list"),
        ("c.jsonl", "null\n", r"c\.jsonl holds no passage, only 1 row without a text"),
        ("c.jsonl", '{"id": 1, "title": "a"}\n', r"c\.jsonl: line 1: no text; keys are id, title"),
        (
            "c.jsonl",
            '{"id": 1, "text": 5}\n',
            r"c\.jsonl: line 1: the text is no text and no list of texts; keys are id, text",
        ),
        ("c.jsonl", "{}\n", r"c\.jsonl: line 1: no text; keys are none"),
        (
            "c.jsonl",
            '{"question": "q", "context": {"title": null, "sentences": []}}\n',
            "line 1: the text is no text",
        ),
        ("c.jsonl", '{"id": {"a": 1, "b": 2}, "text": "a"}\n', r"line 1: .*an id is a text or a number, not \{"),
        (
            "c.jsonl",
            '{"id": "x", "title": {"a": 1}, "text": "a"}\n',
            r"line 1: the title is no text; keys are id, title",
        ),
        (
            "c.jsonl",
            '{"text": "a"}\n{"text": "x \\ud800 y"}\n',
            r"c\.jsonl: line 2: passage '[0-9a-f]{16}' holds half a character",
        ),
        ("c.jsonl", '{"id": 1, "text": "a", "author": "caf\\ud83d"}\n', r"line 1: passage '1' holds half a character"),
        (
            "c.jsonl",
            '{"text": "a"}\n{"id": ' + "1" * 5000 + ', "text": "x"}\n',
            r"c\.jsonl: line 2: this cannot be taken as JSON",
        ),
        ("c.jsonl", '{"text": "a"}\n' + "[" * 100_000 + "\n", r"c\.jsonl: line 2: this cannot be taken as JSON"),
        ("c.jsonl", "", r"c\.jsonl holds no passage"),
        ("c.jsonl", b'{"id": 1, "text": "caf\xe9"}\n', r"line 1: this is not UTF-8 text; if '.*café\"}' looks right"),
        (
            "c.tsv",
            b"1\ta\n2\tcaf\xe9\n",
            r"c\.tsv: line 2: this is not UTF-8 .*iconv -f WINDOWS-1252 -t UTF-8 c\.tsv > utf8-c\.tsv",
        ),
        ("c.csv", "id,text\n1,橋は完成した\n".encode("shift_jis"), r"line 2: this is not UTF-8 text"),
        ("c.jsonl", '{"text": "Grün"}\n'.encode("utf-16")[:-3], r"this is no whole UTF-16 text"),
        ("c.tsv", "1\ta\n2\n", r"c\.tsv: line 2: 1 columns, expected id <TAB> text <TAB> title: '2'"),
        ("c.tsv", "1\ta\tb\tc\n", r"c\.tsv: line 1: 4 columns"),
        ("c.csv", "id,text\n1,a,b\n", r"c\.csv: line 2: 3 columns, expected id, text:"),
        ("c.tsv", "id\ttext\n1\ta\tb\n", r"c\.tsv: line 2: 3 columns, expected id <TAB> text:"),
        ("c.tsv", "id\ttext\n", r"c\.tsv holds no passage"),
        ("c.csv", "1,a\n", r"c\.csv: line 1: the first line must name the columns \(one of .*\): 1,a"),
        ("corpus", "1\ta\n", r"unknown suffix ''; passages are read from \.json, \.jsonl"),
    ],
)
def test_faults_are_told_with_their_place_on_one_line(
    write: Write, name: str, content: str | bytes, message: str
) -> None:
    with pytest.raises(PolyqaError, match=message) as caught:
        read_corpus(write(name, content))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("missing.jsonl", "is no file and no folder"),
        ("n" * 300, "is no file and no folder"),
        (".", "this folder holds no passages; they are read from"),
    ],
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
    with pytest.raises(PolyqaError, match=r"e\.jsonl: line 1: the id '1' already stands at .*a\.tsv: line 1"):
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
    odd = {"ID": [1.0, 2.0], "Title": [["Tea"], ["Iced", "tea"]], "TEXT": [b"Green.", b"Black."]}
    pq.write_table(pa.table(odd), tmp_path / "odd.parquet")
    pq.write_table(pa.table({"id": [1], "text": [["Green.", " Hot."]]}), tmp_path / "sentences.parquet")
    assert [(one.pid, one.title, one.text) for one in read_corpus(tmp_path / "odd.parquet")] == [
        ("1", "Tea", "Green."),
        ("2", "Iced tea", "Black."),
    ]
    assert read_corpus(tmp_path / "sentences.parquet") == [Passage(pid="1", text="Green. Hot.")]
    pq.write_table(pa.table({"more": [1]}), tmp_path / "none.parquet")
    with pytest.raises(PolyqaError, match=r"none\.parquet: record 1: no text"):
        read_corpus(tmp_path / "none.parquet")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(PolyqaError, match=r"broken\.parquet: this is not a Parquet file") as caught:
        read_corpus(tmp_path / "broken.parquet")
    assert "\n" not in str(caught.value)


def test_a_corpus_is_read_no_further_than_it_is_wanted() -> None:
    taken: list[int] = []

    def endless() -> Iterator[str]:
        for number in count():
            taken.append(number)
            yield f"passage {number}"

    corpus = iter(Corpus(endless()))
    assert [next(corpus).text for _ in range(3)] == ["passage 0", "passage 1", "passage 2"]
    assert taken == [0, 1, 2]


@pytest.mark.parametrize(
    ("corpus", "message"),
    [
        ([], "the list of passages holds no passage"),
        (["fine", 5], "passage 2: expected an object, got int"),
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
    read = read_corpus(path)
    assert [(one.pid, one.indexed_text) for one in read] == [(one.pid, one.indexed_text) for one in passages]
    assert [one for one, given in zip(read, passages, strict=True) if given.title] == [p for p in passages if p.title]
    assert all(one == given or one.title for one, given in zip(read, passages, strict=True))


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


# Public files as they are: name, content, then what its passages are: id, title, text and metadata.
PUBLIC: dict[str, tuple[str, str | bytes, list[tuple[str | None, str, str, dict[str, Any]]]]] = {
    "DPR": (
        "psgs_w100.tsv",
        'id\ttext\ttitle\n1\t"Tea ( or ; ""chai"") is\na drink."\tTea\n2\tIt is hot.\t"Tea, ""green"""\n3\t"x" y\tZ\n',
        [
            ("1", "Tea", 'Tea ( or ; "chai") is\na drink.', {}),
            ("2", 'Tea, "green"', "It is hot.", {}),
            ("3", "Z", '"x" y', {}),
        ],
    ),
    "ColBERT": (
        "collection.tsv",
        '0\t"A quotation that\n1\tends in the next passage."\n',
        [("0", "", '"A quotation that', {}), ("1", "", 'ends in the next passage."', {})],
    ),
    "a header with other columns": (
        "c.tsv",
        "PID\tPassage\tTitle\tURL\n1\tIt is hot.\tTea\thttp://x\n",
        [("1", "Tea", "It is hot.", {"url": "http://x"})],
    ),
    "CSV": (
        "c.csv",
        'id,title,text,date\n7,Tea,"Hot, or\ncold.",2024-01-02\n',
        [("7", "Tea", "Hot, or\ncold.", {"date": "2024-01-02"})],
    ),
    "CSV of Excel in Europe": ("c.csv", "id;text\n7;Hot, or cold.\n", [("7", "", "Hot, or cold.", {})]),
    "UTF-16": ("c.tsv", "0\tGrün.\n1\tRot.\n".encode("utf-16"), [("0", "", "Grün.", {}), ("1", "", "Rot.", {})]),
    "UTF-16 of lines": ("c.jsonl", '{"id": 7, "text": "Grün."}\n'.encode("utf-16-be"), [("7", "", "Grün.", {})]),
    "UTF-32": ("c.tsv", "0\tGrün.\n".encode("utf-32"), [("0", "", "Grün.", {})]),
    "UTF-16 without a mark": ("c.tsv", "0\tGreen.\n".encode("utf-16-le"), [("0", "", "Green.", {})]),
    "a carriage return in a text": (
        "c.tsv",
        "0\tGreen\rtea.\n1\tRed.\n",
        [("0", "", "Green tea.", {}), ("1", "", "Red.", {})],
    ),
    "carriage returns only": ("c.tsv", "0\tGreen.\r1\tRed.\r", [("0", "", "Green.", {}), ("1", "", "Red.", {})]),
    "empty cells": ("c.csv", "id,title,text\n,,Green.\n", [(None, "", "Green.", {})]),
    "TREC": ("c.jsonl", '{"docno": "t1", "segment": "Green."}\n', [("t1", "", "Green.", {})]),
    "names in capitals": ("c.csv", "DocId,TITLE,Passage_Text\n7,Tea,Green.\n", [("7", "Tea", "Green.", {})]),
    "MuSiQue": (
        "c.jsonl",
        '{"id": "q", "paragraphs": [{"idx": 0, "title": "Tea", "paragraph_text": "Green."}], "question": "Hot?"}\n',
        [(None, "Tea", "Green.", {})],
    ),
    "blank lines and a byte order mark": (
        "c.jsonl",
        '\ufeff{"id": 7, "text": "a"}\r\n\r\n  \r\n{"id": "b", "text": "c"}',
        [("7", "", "a", {}), ("b", "", "c", {})],
    ),
    "line separators of Unicode": ("c.jsonl", '{"id": 7, "text": "a\u2028b\x85c"}', [("7", "", "a\u2028b\x85c", {})]),
    "gzip": ("c.jsonl.gz", gzip.compress(b'{"id": 1.0, "text": "Green."}\n'), [("1", "", "Green.", {})]),
    "DSPy": (
        "wiki.abstracts.2017.jsonl",
        '{"id": "12", "url": "u", "title": "Tea", "text": ["Tea is hot.", " It is green."]}\n',
        [("12", "Tea", "Tea is hot. It is green.", {"url": "u"})],
    ),
    "KILT": (
        "kilt.jsonl",
        '{"_id": "290", "wikipedia_id": "290", "wikipedia_title": "A", "text": ["A\\n", "A is a letter.\\n", '
        '"Section::::History.\\n", "BULLET::::- Old\\n"], "anchors": []}\n',
        [("290", "A", "A is a letter. History. Old", {"wikipedia_id": "290"})],
    ),
    "KILT on the hub": (
        "kilt.jsonl",
        '{"kilt_id": "290", "wikipedia_title": "A", "text": {"paragraph": ["A\\n", "A is a letter.\\n"]}}\n',
        [("290", "A", "A is a letter.", {})],
    ),
    "NaN": ("c.jsonl", '{"id": NaN, "title": NaN, "text": "Green.", "x": NaN}\n', [(None, "", "Green.", {})]),
    "MongoDB": ("c.jsonl", '{"_id": {"$oid": "5f"}, "text": "Green."}\n', [("5f", "", "Green.", {})]),
    "MongoDB, of another kind": ("c.json", '[{"_id": {"$uuid": "5f"}, "text": "Green."}]', [("5f", "", "Green.", {})]),
    "LangChain": (
        "c.jsonl",
        '{"page_content": "Green.", "metadata": {"source": "a.pdf", "page": 1, "loc": {"x": 2}}}\n',
        [(None, "", "Green.", {"source": "a.pdf", "page": 1})],
    ),
    "LangChain, with a title": (
        "c.jsonl",
        '{"page_content": "Green.", "metadata": {"title": "Tea", "source": "a.pdf"}}\n',
        [(None, "Tea", "Green.", {"source": "a.pdf"})],
    ),
    "by id": ("c.json", '{"7": {"title": "Tea", "text": "Green."}}', [("7", "Tea", "Green.", {})]),
    "texts by id": ("c.json", '{"7": "Green.", "8": "Red."}', [("7", "", "Green.", {}), ("8", "", "Red.", {})]),
    "to_json() of pandas": ("c.json", '{"id": {"0": 7}, "text": {"0": "Green."}}', [("7", "", "Green.", {})]),
    "lines in .json": (
        "c.json",
        '{"id": 7, "text": "Green."}\n{"id": 8, "text": "Red."}\n',
        [("7", "", "Green.", {}), ("8", "", "Red.", {})],
    ),
    "ALCE": (
        "alce.json",
        '[{"question": "Hot?", "docs": [{"id": "13", "title": "Tea", "text": "Green.", "score": 0.7}]}]',
        [("13", "Tea", "Green.", {})],
    ),
    "SQuAD": (
        "squad.json",
        '{"version": "1.1", "data": [{"title": "Tea", "paragraphs": [{"context": "Green.", "qas": []}]}]}',
        [(None, "Tea", "Green.", {})],
    ),
    "SQuAD on the hub": (
        "squad.jsonl",
        '{"id": "q1", "title": "Tea", "context": "Green.", "question": "Hot?"}\n'
        '{"id": "q2", "title": "Tea", "context": "Green.", "question": "Cold?"}\n',
        [(None, "Tea", "Green.", {})],
    ),
    "HotpotQA": (
        "hotpot.json",
        '[{"_id": "q", "question": "Hot?", "context": [["Tea", ["Green.", " Hot."]], ["Ice", ["Cold."]]]}]',
        [(None, "Tea", "Green. Hot.", {}), (None, "Ice", "Cold.", {})],
    ),
}


@pytest.mark.filterwarnings("ignore:.*repeated passage")
@pytest.mark.parametrize("name", PUBLIC)
def test_public_files_as_they_are(name: str, write: Write) -> None:
    file, content, expected = PUBLIC[name]
    found = read_corpus(str(write(file, content)))
    assert [(p.pid, p.title, p.text, dict(p.metadata)) for p in found] == [
        (content_id(Passage(pid="", title=title, text=text), metadata) if pid is None else pid, title, text, metadata)
        for pid, title, text, metadata in expected
    ]


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_of_a_folder_of_beir_the_corpus_is_taken(suffix: str, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = {"corpus": {"_id": "d1", "title": "Tea", "text": "Green."}, "queries": {"_id": "q1", "text": "Hot?"}}
    for part, row in rows.items():
        if suffix == "jsonl":
            (tmp_path / f"{part}.jsonl").write_text(json.dumps(row) + "\n")
        else:
            (tmp_path / part).mkdir()
            pq.write_table(pa.Table.from_pylist([row]), tmp_path / part / f"{part}-00000-of-00001.parquet")
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    assert read_corpus(tmp_path) == [Passage(pid="d1", title="Tea", text="Green.")]


class _Document:
    """What LangChain's Document and LlamaIndex's TextNode have."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


def test_objects_of_python_as_they_are(tmp_path: Path) -> None:
    import datasets
    import numpy as np
    import pandas as pd
    import pyarrow as pa

    frame = pd.DataFrame({"id": [1.0, np.nan], "title": ["Tea", None], "text": ["Green.", "Black."], "price": [2, 3]})
    tea = Passage(pid="1", title="Tea", text="Green.", metadata={"price": 2})
    black = Passage(pid="", text="Black.", metadata={"price": 3})
    black = black.model_copy(update={"pid": content_id(black, black.metadata)})
    data = datasets.Dataset.from_pandas(frame)
    data.save_to_disk(str(tmp_path / "one"))
    splits = datasets.DatasetDict(train=data.select([0]), dev=data.select([1]))
    splits.save_to_disk(str(tmp_path / "several"))
    tables = (frame, frame.to_dict("records"), frame.itertuples(index=False), frame.set_index("id"))
    tables = (*tables, frame.set_index("id", drop=False))
    for source in (*tables, pa.Table.from_pandas(frame), data, tmp_path / "one"):
        assert read_corpus(source) == [tea, black], source
    missing = pd.DataFrame({"id": pd.array([1, None], dtype="Int64"), "title": pd.array(["Tea", None], dtype="string")})
    missing["text"], missing["day"] = ["Green.", "Black."], [pd.NaT, pd.Timestamp("2024-01-02")]
    day = {"day": "2024-01-02"}
    assert [(one.pid, one.title, one.metadata) for one in read_corpus(missing)] == [
        ("1", "Tea", {}),
        (content_id(black, day), "", day),
    ]
    titled = pd.DataFrame({"id": [1.0], "title": [np.array(["Tea"])], "text": [["Green.", "Hot."]]})
    assert read_corpus(titled) == [Passage(pid="1", title="Tea", text="Green. Hot.")]
    assert [passage.text for passage in read_corpus(frame["text"])] == ["Green.", "Black."]
    for several in (splits, tmp_path / "several"):
        assert read_corpus(Corpus(several, split="dev")) == [black]
        with pytest.raises(PolyqaError, match="name a split; there are train, dev"):
            read_corpus(several)
    assert read_corpus(f"{tmp_path / 'several'}@train") == [tea]
    documents = [
        _Document(page_content="Green.", metadata={"source": "a.pdf"}, id=None),
        _Document(text="Black.", metadata={}, id_="n2"),
    ]
    assert [(p.pid, p.text, dict(p.metadata)) for p in read_corpus(documents)] == [
        (content_id(Passage(pid="", text="Green."), {"source": "a.pdf"}), "Green.", {"source": "a.pdf"}),
        ("n2", "Black.", {}),
    ]
    assert read_corpus({"d1": {"title": "Tea", "text": "Green."}}) == [Passage(pid="d1", title="Tea", text="Green.")]
    with pytest.raises(PolyqaError, match="expected a list or an object of records, got one record"):
        read_corpus({"id": "1", "text": "Green."})


def test_a_summary_says_how_a_corpus_was_read(write: Write) -> None:
    path = write(
        "c.jsonl", '{"_id": "1", "page_content": "a", "lang": "en", "_score": 1}\n{"_id": "2", "page_content": ""}\n'
    )
    corpus = Corpus(path)
    assert len(list(corpus)) == 1
    assert corpus.summary() == (
        f"read {path}: 1 passage (id from '_id', text from 'page_content'); metadata lang; 1 empty passage left out"
    )


_CELL = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\x00"), max_size=12)


@settings(max_examples=50)
@given(rows=st.lists(st.tuples(_CELL, _CELL), min_size=1, max_size=6), delimiter=st.sampled_from([",", "\t", ";"]))
def test_a_table_that_python_wrote_keeps_every_character(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], delimiter: str
) -> None:
    assume(
        not any(len(words) > len({*words}) for text, _ in rows for words in [text.split()])
    )  # else it may be a title
    path = tmp_path_factory.getbasetemp() / f"table{'.tsv' if delimiter == chr(9) else '.csv'}"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerows([("id", "text", "title"), *((f"p{n}", *row) for n, row in enumerate(rows))])
    found = {p.pid: (p.text, p.title) for p in Corpus(path)} if any(text.strip() for text, _ in rows) else {}
    assert found == {f"p{n}": (text, title.strip()) for n, (text, title) in enumerate(rows) if text.strip()}


def test_numbers_and_ids_of_databases_are_metadata() -> None:
    row = {"id": UUID(int=7), "text": "The pump.", "price": Decimal("9.5"), "at": time(9, 30), "part": UUID(int=8)}
    (passage,) = read_corpus([row])
    assert passage.pid == str(UUID(int=7))
    assert passage.metadata == {"price": 9.5, "at": "09:30:00", "part": str(UUID(int=8))}
    numbers = ["12345678901234567890123456789012345678", "12345678901234567890123456789012345679"]
    assert [one.pid for one in read_corpus([{"id": Decimal(number), "text": number} for number in numbers])] == numbers


def test_the_index_that_pandas_writes_is_no_metadata(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text(",text,product\n0,It lasts two years.,Falcon\n1,It lasts two years.,Falcon\n")
    with pytest.warns(UserWarning, match="1 repeated passage left out"):
        (passage,) = read_corpus(tmp_path / "c.csv")
    assert passage.metadata == {"product": "Falcon"}


def test_rows_without_an_id_that_differ_in_metadata_are_two_passages() -> None:
    rows = [{"text": "It lasts two years.", "product": product} for product in "AAB"]
    with pytest.warns(UserWarning, match="1 repeated passage left out"):
        passages = read_corpus(rows)
    assert [one.metadata["product"] for one in passages] == ["A", "B"]
    assert [one.pid for one in read_corpus([{"text": "It lasts two years."}])] == [content_id(passages[0])]
