import errno
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.colbert_index import (
    ColBERTIndex,
    IndexFaultError,
    add_passages,
    build_index,
    check_index,
    remove_passages,
    update,
)
from polyqa.colbert_index.settings import fingerprint
from polyqa.colbert_index.update import change_passages
from polyqa.models import Encoder

MARMOT = Passage(pid="marmot", title="Marmot", text="A marmot whistles when an eagle crosses the meadow.")
ALPHORN = Passage(pid="alphorn", title="Alphorn", text="The alphorn is carved from a crooked spruce.")
CHEESE = Passage(pid="cheese", title="Cheese", text="Mountain cheese is washed with brine every other day.")
QUERIES = {
    "marmot": "why does a marmot whistle",
    "alphorn": "what is an alphorn carved from",
    "cheese": "how often is mountain cheese washed with brine",
    "kite-tail": "what stops the kite from spinning in gusts",
    "ice-blue": "why is old glacier ice blue",
}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def assert_holds(index: ColBERTIndex, pids: set[str], encoder: Encoder) -> None:
    """The index finds the passages of `QUERIES` that it holds, the others not, and is whole."""
    assert {passage.pid for passage in index.passages} == pids
    assert len(index) == len(pids)
    for wanted, query in QUERIES.items():
        for found in (index.search(query, k=40), index.bm25.search(query, k=40)):
            if wanted in pids:
                assert found[0].pid == wanted
            assert {passage.pid for passage in found} <= pids
    stored = index.vectors(encoder.name)
    assert stored is not None
    for wanted in {*QUERIES} & pids:
        passage = index.passage(wanted)
        own = encoder.encode([passage.indexed_text])[0]
        np.testing.assert_allclose(stored[index.position(passage)], own, atol=2e-2)
    assert check_index(index.path).fingerprint == index.fingerprint


def test_additions_and_removals_in_a_row(copy_index: Callable[[], Path], encoder: Encoder) -> None:
    index = ColBERTIndex(copy_index())
    pids = {passage.pid for passage in index.passages}
    tokens = index.manifest.tokens

    index = add_passages(index, [MARMOT])
    assert_holds(index, pids | {"marmot"}, encoder)
    index = add_passages(index, [ALPHORN, CHEESE])
    assert_holds(index, pids | {"marmot", "alphorn", "cheese"}, encoder)
    index = remove_passages(index, ["marmot", "kite-tail"])
    assert_holds(index, pids - {"kite-tail"} | {"alphorn", "cheese"}, encoder)
    index = remove_passages(index, "cheese")  # one id
    assert_holds(index, pids - {"kite-tail"} | {"alphorn"}, encoder)
    index = add_passages(index, [MARMOT])
    assert_holds(index, pids - {"kite-tail"} | {"alphorn", "marmot"}, encoder)
    kite_tail = next(p for p in ColBERTIndex(index.path).positions if p is not None and p.pid == "kite-line")
    index = remove_passages(index, ["alphorn", "marmot", kite_tail.pid])
    assert_holds(index, pids - {"kite-tail", "kite-line"}, encoder)
    assert index.manifest.tokens < tokens


def test_the_old_passages_are_found_as_before(index: ColBERTIndex, copy_index: Callable[[], Path]) -> None:
    query = QUERIES["ice-blue"]
    before = {passage.pid: passage.score for passage in index.search(query, k=5)}
    changed = add_passages(ColBERTIndex(copy_index()), [MARMOT])
    changed = remove_passages(changed, ["tea-salt"])
    after = {passage.pid: passage.score for passage in changed.search(query, k=5)}
    assert after == pytest.approx(before, abs=1e-4)


def test_the_fingerprint_follows_the_positions(copy_index: Callable[[], Path]) -> None:
    original = ColBERTIndex(copy_index())
    added = add_passages(original, [MARMOT])
    removed = remove_passages(added, ["marmot"])
    assert len({original.fingerprint, added.fingerprint, removed.fingerprint}) == 3
    assert removed.positions == [*original.positions, None]
    hashed = original.manifest.checkpoint_hash
    assert removed.fingerprint == fingerprint(removed.positions, hashed, original.settings)


def test_a_handle_that_is_out_of_date_cannot_change_the_index(copy_index: Callable[[], Path]) -> None:
    old = ColBERTIndex(copy_index())
    new = add_passages(old, [MARMOT])
    for change in (lambda: add_passages(old, [ALPHORN]), lambda: remove_passages(old, ["ice-blue"])):
        with pytest.raises(PolyqaError, match="changed"):
            change()
    assert check_index(old.path).fingerprint == new.fingerprint


@pytest.mark.parametrize("file", ["0.residuals.pt", "ivf.pid.pt", "doclens.0.json", "vectors.npy"])
@pytest.mark.parametrize(
    "change",
    [
        lambda index: add_passages(index, [MARMOT]),
        lambda index: remove_passages(index, "ice-blue"),
        lambda index: change_passages(index, metadata={"ice-blue": {"seen": 1}}),
    ],
    ids=["add", "remove", "metadata"],
)
def test_a_damaged_file_is_not_taken_over(
    copy_index: Callable[[], Path], change: Callable[[ColBERTIndex], ColBERTIndex], file: str
) -> None:
    index = ColBERTIndex(copy_index())
    data = bytearray((index.folder / file).read_bytes())
    data[len(data) // 2] ^= 1
    (index.folder / file).write_bytes(data)
    with pytest.raises(IndexFaultError, match=f"{file} is damaged: it is not as it was written"):
        change(index)
    assert ColBERTIndex(index.path).version == index.version


def test_a_full_disk_is_told_as_that(copy_index: Callable[[], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*chunk: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(update, "write_chunk", full)
    index = ColBERTIndex(copy_index())
    with pytest.raises(OSError, match="No space left"):
        add_passages(index, [MARMOT])
    assert check_index(index.path).fingerprint == index.fingerprint


def test_an_index_without_stored_vectors_stays_without(tmp_path: Path) -> None:
    index = build_index(["Green tea is steamed.", "Black tea is rolled."], tmp_path / "tea", progress=False)
    index = add_passages(index, [MARMOT])
    assert index.search("marmot", k=1)[0].pid == "marmot"
    assert not (index.folder / "vectors.npy").exists()
    index = remove_passages(index, [passage.pid for passage in index.passages if "tea" in passage.text])
    assert [passage.pid for passage in index.search("green tea", k=5)] == ["marmot"]


def test_adding_more_without_ids_never_collides(tmp_path: Path) -> None:
    index = build_index(["Green tea is steamed.", "Black tea is rolled."], tmp_path / "tea", progress=False)
    with pytest.warns(UserWarning, match="1 repeated passage left out"):
        index = add_passages(index, ["White tea is dried.", "Green tea is steamed."])
    assert len(index) == 3
    with pytest.warns(UserWarning, match="1 repeated passage left out"):
        assert add_passages(index, ["White tea is dried."]) is index


@pytest.mark.parametrize(
    ("corpus", "message"),
    [
        ([MARMOT, {"id": "ice-blue", "text": "other"}], "The id 'ice-blue' is already in the index copy"),
        ([MARMOT, {"id": "marmot", "text": "other"}], "passage 2: the id 'marmot' already stands at passage 1"),
        ([{"id": "x", "text": " "}], "holds no passage, only 1 row without a text"),
        ([], "holds no passage"),
        ("missing.jsonl", "is no file and no folder"),
    ],
)
def test_a_refused_addition_changes_nothing(
    copy_index: Callable[[], Path], corpus: list[Passage] | str, message: str
) -> None:
    path = copy_index()
    before = contents(path.parent)
    with pytest.raises(PolyqaError, match=message):
        add_passages(ColBERTIndex(path), corpus)
    assert contents(path.parent) == before


def test_a_refused_removal_changes_nothing(copy_index: Callable[[], Path], passages: list[Passage]) -> None:
    path = copy_index()
    before = contents(path.parent)
    with pytest.raises(PolyqaError, match="holds no passage 'marmot'; nothing was removed"):
        remove_passages(ColBERTIndex(path), ["ice-blue", "marmot"])
    with pytest.raises(PolyqaError, match="would remove every passage of the index copy"):
        remove_passages(ColBERTIndex(path), [passage.pid for passage in passages])
    assert contents(path.parent) == before


def test_a_removed_passage_cannot_be_removed_again(copy_index: Callable[[], Path]) -> None:
    index = remove_passages(ColBERTIndex(copy_index()), ["ice-blue"])
    with pytest.raises(PolyqaError, match="holds no passage 'ice-blue'"):
        remove_passages(index, ["ice-blue"])
    assert remove_passages(index, ["ice-milk", "ice-milk"]).search("glacier milk", k=1)[0].pid != "ice-milk"


def test_after_many_removals_all_that_is_left_is_found(tmp_path: Path) -> None:
    topics = [
        "Mars is a red planet.",
        "The cello is a string instrument.",
        "Iron rusts in wet air.",
        "Bees make honey.",
    ]
    corpus = [Passage(pid=str(at), text=f"{topics[at % 4]} Note {at}.") for at in range(80)]
    index = build_index(corpus, tmp_path / "topics", progress=False)
    assert len(index.search("Who wrote the constitution?", 100)) == 80
    for left in (12, 6, 2, 1):
        gone = [passage.pid for passage in index.passages[left:]]
        index = remove_passages(index, gone)
        found = index.search("Who wrote the constitution?", left + 3)
        assert sorted(passage.pid for passage in found) == sorted(map(str, range(left)))
    assert check_index(index.path).passages == [corpus[0]]


def test_ids_are_texts_or_numbers_one_or_any_iterable(copy_index: Callable[[], Path]) -> None:
    more = [Passage(pid=pid, text=f"A passage of number {pid}.") for pid in ("1", "2", "12", "59")]
    index = add_passages(ColBERTIndex(copy_index()), more)
    index = remove_passages(index, "12")
    assert {"1", "2", "59"} <= {passage.pid for passage in index.passages}
    with pytest.raises(PolyqaError, match="holds no passage '12'"):
        remove_passages(index, 12)
    index = remove_passages(index, np.array([1]))
    left = remove_passages(index, (pid for pid in (2, "59")))
    assert {passage.pid for passage in left.passages}.isdisjoint({"1", "2", "12", "59"})


def test_a_passage_added_again_with_other_metadata_has_these(copy_index: Callable[[], Path]) -> None:
    index = add_passages(ColBERTIndex(copy_index()), [MARMOT.model_copy(update={"metadata": {"seen": 1}})])
    for added, seen in [([{"seen": 2}], 2), ([{}], 2), ([{"seen": 3}, CHEESE], 3)]:
        passages = [one if isinstance(one, Passage) else MARMOT.model_copy(update={"metadata": one}) for one in added]
        with pytest.warns(UserWarning, match="1 repeated passage left out"):
            index = add_passages(index, passages)
        assert [one.pid for one in index.where(f"seen = {seen}").search("whistle", 5)] == ["marmot"]
    assert "cheese" in index.stored
