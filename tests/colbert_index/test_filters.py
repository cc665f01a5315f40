"""Conditions choose passages before the search; one from a stranger does no harm."""

import copy
import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyqa.base.errors import PolyqaError
from polyqa.base.values import MetadataValue, Passage
from polyqa.colbert_index import (
    ColBERTIndex,
    FusedRetriever,
    SearchSettings,
    add_passages,
    build_index,
    remove_passages,
)
from polyqa.colbert_index.filters import LONGEST, ColumnKinds, Filter

MANUALS: Mapping[str, Mapping[str, MetadataValue]] = {
    "f1": {"product": "Falcon", "date": "2024-03-01", "page": 14, "draft": False, "price": "9.5", "Zip": "01234"},
    "f0": {"product": "Falcon", "date": "2021-05-30", "page": 3, "draft": False, "price": "10", "Zip": "99999"},
    "h1": {"product": "Heron", "date": "2025-01-31 10:00", "page": 2, "draft": True, "note": 'a "b" (c); --d'},
    "n": {"note": 7},
}
PASSAGES = [Passage(pid=pid, title=f"The {pid}", text="A pump.", metadata=more) for pid, more in MANUALS.items()]
COLUMNS = ColumnKinds(PASSAGES).columns


def chosen(condition: str, passages: Sequence[Passage | None] = PASSAGES) -> str:
    matches = Filter(condition, ColumnKinds(passages).columns).matching(passages)
    return " ".join(one.pid for one, match in zip(passages, matches, strict=True) if match and one)


def test_a_column_may_be_called_as_a_row_is() -> None:
    rows = [Passage(pid=str(at), text="A row.", metadata={"rowid": 100 + at, "oid": at}) for at in range(3)]
    assert chosen("rowid = 101", rows) == "1"
    assert chosen("oid > 0 AND _rowid_ >= 0", rows) == "1 2"


def test_half_a_character_is_searched_for_as_none(tmp_path: Path) -> None:
    index = build_index(PASSAGES, tmp_path / "manuals", progress=False)
    assert index.search("a pump caf\udce9", 2) == index.search("a pump caf\ufffd", 2)


def test_a_filtered_handle_changes_nothing(tmp_path: Path) -> None:
    """Its new handle would find what it leaves out."""
    index = build_index(PASSAGES, tmp_path / "manuals", progress=False)
    falcons = index.where("product = 'Falcon'")
    with pytest.raises(PolyqaError, match="'h1' is already in the index"):
        add_passages(falcons, [Passage(pid="h1", text="Another.")])
    for change in (
        lambda: add_passages(falcons, [Passage(pid="new", text="Another.")]),
        lambda: add_passages(falcons, [falcons.passages[0].model_copy(update={"metadata": {"product": "Heron"}})]),
        lambda: remove_passages(falcons, ["f0", "f1"]),
    ):
        with pytest.raises(PolyqaError, match=r"leaves passages out \(product = 'Falcon'\); open the index without"):
            change()
    assert ColBERTIndex(index.path).fingerprint == index.fingerprint


def test_the_kinds_of_columns_are_those_of_their_values() -> None:
    assert COLUMNS == {
        "Zip": "text", "date": "text", "draft": "boolean", "note": "mixed", "page": "number", "price": "number",
        "product": "text",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("condition", "pids"),
    [
        ("product = 'Falcon' and date >= 2024-01-01", "f1"),
        ("date between 2024-01-01 and 2025-12-31", "f1 h1"),
        ("date >= date '2024-01-01' AND date < 2025-01-31 09:59", "f1"),
        ("note != '2024-01-01'", "h1 n"),
        ("price > 9.6", "f0"),
        ("price = '9.5'", "f1"),
        ("zip like '01%'", "f1"),
        ("page in (2, 3) and not draft", "f0"),
        ("page = '3'", "f0"),
        ("draft", "h1"),
        ("draft = true", "h1"),
        ("product is null", "n"),
        ("product != 'Falcon'", "h1"),
        ("pid = 'n' or title = 'The f0'", "f0 n"),
        ("lower(product) = 'heron'", "h1"),
        ("\"product\" = 'Heron'", "h1"),
        ("note = 'a \"b\" (c); --d'", "h1"),
        ("product = 'it''s' or (page > 10)", "f1"),
        ("page > 99", ""),
        ("1", "f1 f0 h1 n"),
    ],
)
def test_a_condition_chooses_passages(condition: str, pids: str) -> None:
    assert chosen(condition) == pids
    assert chosen(condition, [None, *PASSAGES, None]) == pids


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("prodct = 'x'", "no column 'prodct'; there are pid, title, Zip, date, draft, note, page, price, product"),
        ("product = Falcon", "no column 'Falcon'.*'single quotes'"),
        ('product = "Falcon"', "no column 'Falcon'"),
        ("", "is empty"),
        ("product =", "syntax error."),
        ("group = 'x'", 'is a word of SQL, stands in "double quotes"'),
        ("1) or (1", "a bracket is closed"),
        ("((1)", "a bracket is not closed"),
        ("(select 1)", "no subquery"),
        ("exists (select * from sqlite_master)", "no subquery"),
        ("page in (select page from passages)", "no subquery"),
        ("page in sqlite_master", "no subquery|syntax"),
        ("1 union select 1", "syntax error"),
        ("1; drop table passages", "';' does not belong"),
        ("1 -- x", "'--' does not belong"),
        ("1 /* x", "does not belong"),
        ("load_extension('/tmp/x.so')", "load_extension; allowed are abs"),
        ("readfile('/etc/passwd') is null", "readfile"),
        ("random() > 0", "random"),
        ("date > current_date", "current_date"),
        ("length(zeroblob(1000000000)) > 1", "zeroblob"),
        ("product regexp '(a+)+$'", "regexp"),
        ("count(*) > 1", "count"),
        ("page = ?", "bindings"),
        ("page = :a", "bindings"),
        ("\ud800 = 1", "no column"),
        ("page = 1\0", "does not belong"),
        ("not " * 1_500 + "1", "cannot be used"),
        ("1 or " * LONGEST, "characters"),
    ],
)
def test_what_is_no_harmless_condition_is_refused_in_one_line(condition: str, told: str) -> None:
    with pytest.raises(PolyqaError, match=told) as refused:
        chosen(condition)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 500


def test_a_condition_that_takes_too_long_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polyqa.colbert_index.filters._SECONDS", -1.0)
    many = [Passage(pid=str(at), text="x", metadata={"page": at}) for at in range(5_000)]
    with pytest.raises(PolyqaError, match="takes longer"):
        chosen("page > 1 and page < 10", many)


values = st.one_of(st.text(max_size=5), st.integers(), st.floats(allow_nan=False), st.booleans())


@given(st.dictionaries(st.text(max_size=5), values, max_size=4), st.text(max_size=30))
def test_whatever_the_metadata_and_the_condition_are_there_is_an_answer_or_one_line(
    metadata: dict[str, MetadataValue], condition: str
) -> None:
    passages = [Passage(pid="1", text="x", metadata=metadata)]
    for asked in (condition, *(f"{_quoted(name)} is not null or {condition}" for name in metadata)):
        told = ""
        try:
            assert chosen(asked, passages) in ("", "1")
        except PolyqaError as error:
            told = str(error)
        assert "\n" not in told


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@pytest.fixture(scope="module", params=[1, 3], ids=["one part", "three shards"])
def numbered(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ColBERTIndex:
    topics = [
        "Mars is a red planet.",
        "The cello is a string instrument.",
        "Iron rusts in wet air.",
        "Bees make honey.",
    ]
    corpus = [
        Passage(pid=str(at), text=f"{topics[at % 4]} Note {at}.", metadata={"number": at, "topic": topics[at % 4][:4]})
        for at in range(80)
    ]
    index = build_index(iter(corpus), tmp_path_factory.mktemp("n") / "n", shards=request.param, progress=False)
    index = remove_passages(index, ["3", "44"])
    return add_passages(index, [Passage(pid="new", text="Bees sting, too.", metadata={"number": -1})])


@pytest.mark.parametrize(
    "settings", [SearchSettings(), SearchSettings(ncells=1, ndocs=5, candidates=6)], ids=["", "few"]
)
def test_exactly_k_of_the_passages_that_match_are_found(numbered: ColBERTIndex, settings: SearchSettings) -> None:
    index = ColBERTIndex(numbered.path, search_settings=settings)
    for condition, count in (("number < 0", 1), ("topic = 'Bees' and number < 50", 11), ("number >= 2", 76)):
        few = index.where(condition)
        assert len(few) == len(few.passages) == count
        for query in ("What do bees make?", "Who wrote the constitution?"):
            for k in (1, 5, 100):
                pids = [passage.pid for passage in few.search(query, k)]
                assert len(pids) == len({*pids}) == min(k, count)
                fused = FusedRetriever([few, few.bm25]).search(query, k)
                assert len(fused) == min(k, count)
                assert {*pids} | {one.pid for one in (*fused, *few.bm25.search(query, k))} <= {
                    passage.pid for passage in few.passages
                }
    assert len(index.search("What do bees make?", 100)) == len(index) == 79, "the handle itself is as it was"


def test_of_few_passages_the_best_are_found_whatever_cells_they_are_in(numbered: ColBERTIndex) -> None:
    narrow = ColBERTIndex(numbered.path, search_settings=SearchSettings(ncells=1))
    few, all_of_them = narrow.where("topic != 'Bees'"), numbered.search("What do bees make?", 100)
    expected = [(one.pid, one.score) for one in all_of_them if one.metadata.get("topic", "Bees") != "Bees"]
    assert [(one.pid, one.score) for one in few.search("What do bees make?", 5)] == expected[:5]


def test_a_filtered_handle_is_told_apart_narrows_further_and_travels(numbered: ColBERTIndex) -> None:
    bees = numbered.where("topic = 'Bees'")
    assert bees.token_vectors is numbered.token_vectors
    assert "where=\"topic = 'Bees'\"" in repr(bees)
    narrower = bees.where("number < 10 or number > 75")
    assert {one.pid for one in narrower.passages} == {"7", "79"}
    assert copy.deepcopy(narrower) is narrower
    same = pickle.loads(pickle.dumps(narrower))
    assert same.search_many(["honey", "iron"], 5) == narrower.search_many(["honey", "iron"], 5)
    assert (numbered.condition, len(numbered)) == (None, 79)
    with pytest.raises(PolyqaError, match="No passage of n fulfils the condition"):
        bees.where("topic = 'Iron'")


@pytest.mark.parametrize("escape", ["number = 7) or (number = 1", "topic = 'Bees' or number = 1) or (1"])
def test_a_condition_cannot_leave_that_of_the_handle(numbered: ColBERTIndex, escape: str) -> None:
    bees = numbered.where("topic = 'Bees'")
    with pytest.raises(PolyqaError, match="a bracket is closed that was not opened"):
        bees.where(escape)
    assert {one.metadata["topic"] for one in bees.where("topic = 'Iron' or 1").passages} == {"Bees"}


def test_an_index_tells_its_columns(numbered: ColBERTIndex, index: ColBERTIndex, tmp_path: Path) -> None:
    assert numbered.info()["columns"] == {"number": "number", "topic": "text"}
    assert "columns" not in index.info()
    with pytest.raises(PolyqaError, match=r"there are pid, title\. "):
        index.where("topic = 'x'")
