import json
import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from whole_index import problem_of

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.colbert_index import ColBERTIndex, IndexSettings, build_index, check_index
from polyqa.colbert_index import update as updating
from polyqa.colbert_index.files import MANIFEST
from polyqa.documents import Documents, sync_index, syncing
from polyqa.documents.syncing import remember, remember_corpus
from polyqa.documents.worker import Worker
from polyqa.models import Encoder

pytest.importorskip("kreuzberg")
BIRDS = {
    "falcon.md": "# Falcon\n\nFalcons dive at 300 km/h.\n\n## Prey\n\nThey eat doves.",
    "owl.md": "# Owl\n\nOwls hunt at night.",
    "hawk.md": "# Hawk\n\nHawks circle over the meadow.",
}


def make_birds(folder: Path) -> Path:
    folder.mkdir()
    for name, text in BIRDS.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def birds(tmp_path: Path) -> Path:
    return make_birds(tmp_path / "birds")


@pytest.fixture(scope="module")
def built_once(encoder: Encoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("once")
    documents = Documents(make_birds(folder / "birds"))
    index = build_index(documents, folder / "index", encoder=encoder, progress=False)
    remember(index, documents)
    return index.path


@pytest.fixture
def built(built_once: Path, birds: Path, tmp_path: Path) -> ColBERTIndex:
    """An index of the birds, which a test may change."""
    copy = shutil.copytree(built_once, tmp_path / "index")
    state = json.loads((copy / ".documents.json").read_text()) | {"folder": str(birds.resolve())}
    (copy / ".documents.json").write_text(json.dumps(state))
    return ColBERTIndex(copy)


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were encoded."""
    texts: list[str] = []
    real = updating.encode_documents

    def encode(model: object, batch: list[str]) -> object:
        texts.extend(batch)
        return real(model, batch)

    monkeypatch.setattr(updating, "encode_documents", encode)
    return texts


def places(index: ColBERTIndex) -> dict[str, str]:
    return {passage.text: passage.place for passage in index.passages}


def test_what_changed_and_only_that(birds: Path, built: ColBERTIndex, encoded: list[str]) -> None:
    (birds / "owl.md").unlink()
    (birds / "hawk.md").rename(birds / "sparrowhawk.md")
    (birds / "falcon.md").write_text("\n\n" + BIRDS["falcon.md"].replace("doves", "pigeons"))
    (birds / "kite.md").write_text("# Kite\n\nKites have forked tails.")
    synced = sync_index(built, birds)
    assert encoded == ["Falcon › Prey They eat pigeons.", "Kite Kites have forked tails."]
    assert (synced.added, synced.removed, synced.moved, synced.unchanged) == (2, 2, 2, 0)
    assert synced.index.version.startswith("000002-")  # in one step: each writes all texts and terms anew
    assert places(ColBERTIndex(built.path)) == {
        "Falcons dive at 300 km/h.": "falcon.md, line 5",
        "They eat pigeons.": "falcon.md, line 9, Prey",
        "Hawks circle over the meadow.": "sparrowhawk.md, line 3",
        "Kites have forked tails.": "kite.md, line 3",
    }
    assert synced.index.search("forked tails", k=1)[0].metadata["source"] == "kite.md"
    check_index(built.path)
    again = sync_index(built.path, birds)
    assert (again.added, again.removed, again.moved, again.unchanged) == (0, 0, 0, 4)
    assert again.index.fingerprint == synced.index.fingerprint
    assert "3 of them unchanged" in again.summary
    assert str(again) == "added 0 passages, removed 0, 4 unchanged; index holds 4"


def test_an_index_in_its_folder_is_none_of_the_documents(birds: Path, built: ColBERTIndex) -> None:
    shutil.copytree(built.path, birds / "index")
    synced = sync_index(built, birds)
    assert "read 3 files: 3 Markdown; 3 of them unchanged" in synced.summary
    assert (synced.added, synced.removed) == (0, 0)


def test_a_sync_that_changes_nothing_writes_nothing(birds: Path, built: ColBERTIndex) -> None:
    notes = built.path / ".documents.json"
    before = notes.stat().st_mtime_ns, notes.stat().st_ino
    sync_index(built, birds)
    assert (notes.stat().st_mtime_ns, notes.stat().st_ino) == before  # the folder that is watched may hold the index


def test_who_searches_meanwhile_sees_one_version(birds: Path, built: ColBERTIndex) -> None:
    done, seen = threading.Event(), []

    def search() -> None:
        while not done.is_set():
            seen.append(problem_of(ColBERTIndex(built.path)))

    with ThreadPoolExecutor(1) as pool:
        searching = pool.submit(search)
        try:
            for number in range(3):
                (birds / "kite.md").write_text(f"# Kite {number}\n\nKite {number} has a forked tail.")
                (birds / f"owl{number or ''}.md").rename(birds / f"owl{number + 1}.md")
                sync_index(built.path, birds)
        finally:
            done.set()
        searching.result()
    assert set(seen) == {""}


def test_files_are_converted_only_if_they_changed(
    birds: Path, built: ColBERTIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    converted = []
    real = Worker.passages
    monkeypatch.setattr(
        Worker, "passages", lambda self, path, source: converted.append(source) or real(self, path, source)
    )
    sync_index(built, birds)
    assert converted == []
    (birds / "owl.md").write_text(BIRDS["owl.md"] + "\n\nAnd sleep by day.")
    sync_index(built, birds)
    assert converted == ["owl.md"]


def test_notes_of_another_reading_convert_every_file_again(birds: Path, built: ColBERTIndex) -> None:
    notes = built.path / ".documents.json"
    assert "3 of them unchanged" in sync_index(built, birds).summary
    notes.write_text(json.dumps(json.loads(notes.read_text()) | {"reading": 1}))
    again = sync_index(built, birds)
    assert "unchanged" not in again.summary
    assert (again.added, again.removed, again.unchanged) == (0, 0, 4)
    assert "3 of them unchanged" in sync_index(built, birds).summary


def test_an_interrupted_sync_goes_on(
    birds: Path, built: ColBERTIndex, encoded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        (birds / f"new{number}.md").write_text(f"# New {number}\n\nBird of kind {number}.")
    monkeypatch.setattr(syncing, "_AT_ONCE", 1)
    real = syncing.change_passages

    def stopped(index: ColBERTIndex, passages: list[Passage], **more: Any) -> ColBERTIndex:
        if "kind 2" in passages[0].text:
            raise KeyboardInterrupt
        return real(index, passages, **more)

    monkeypatch.setattr(syncing, "change_passages", stopped)
    with pytest.raises(KeyboardInterrupt):
        sync_index(built, birds)
    assert len(encoded) == 2
    monkeypatch.setattr(syncing, "change_passages", real)
    assert sync_index(built.path, birds).added == 1
    assert len(encoded) == 3


def test_a_file_that_cannot_be_read_now_keeps_its_passages(birds: Path, built: ColBERTIndex) -> None:
    (birds / "owl.md").write_bytes(b"")
    synced = sync_index(built, birds)
    assert (synced.removed, len(synced.index)) == (0, 4)
    assert "owl.md is empty" in synced.summary


def test_a_subfolder_that_cannot_be_read_now_keeps_its_passages(
    birds: Path, built: ColBERTIndex, request: pytest.FixtureRequest
) -> None:
    (birds / "locked" / "away").mkdir(parents=True)
    (birds / "hawk.md").rename(birds / "locked" / "away" / "hawk.md")
    before = sync_index(built, birds).index
    (birds / "owl.md").unlink()
    request.getfixturevalue("no_permission")
    after = sync_index(before, birds)
    assert places(after.index).keys() == places(before).keys() - {"Owls hunt at night."}
    assert "locked cannot be read (Permission denied)" in after.summary
    request.getfixturevalue("monkeypatch").undo()
    assert sync_index(after.index, birds).removed == 0


@pytest.mark.parametrize(
    "state", ["7", "{", '{"read": 7}', '{"read": {"owl.md": 7}}', '{"tokens": "x"}', '{"tokens": 1}']
)
def test_notes_that_are_damaged_count_as_missing(state: str, birds: Path, built: ColBERTIndex) -> None:
    (built.path / ".documents.json").write_text(state)
    assert str(sync_index(built, birds)).startswith("added 0 passages, removed 0, 4 unchanged")


def test_the_same_text_in_two_files(birds: Path, built: ColBERTIndex) -> None:
    (birds / "the owl.md").write_text(BIRDS["owl.md"])
    assert sync_index(built, birds).added == 0
    (birds / "owl.md").unlink()
    synced = sync_index(built.path, birds)
    assert (synced.added, synced.removed, synced.moved) == (0, 0, 1)
    assert places(synced.index)["Owls hunt at night."] == "the owl.md, line 3"
    assert sync_index(built.path, birds).moved == 0


def test_a_namesake_that_comes_or_goes_renames_the_others(birds: Path, built: ColBERTIndex) -> None:
    (birds / "north").mkdir()
    (birds / "north" / "owl.md").write_text("# Owl\n\nOwls hunt by day.\n\n## Prey\n\nLemmings.")
    (birds / "north" / "hawk.md").write_text("# Hawk\n\nHawks circle over the meadow.")
    synced = sync_index(built, birds)
    owls = {"Owl (North)", "Owl (North) › Prey"}
    assert {passage.title for passage in synced.index.passages} == {"Owl", "Falcon", "Falcon › Prey", "Hawk"} | owls
    assert (synced.added, synced.removed) == (2, 0)
    assert "3 of them unchanged" in synced.summary

    (birds / "south").mkdir()
    (birds / "owl.md").rename(birds / "south" / "owl.md")
    synced = sync_index(synced.index, birds)
    assert {passage.title for passage in synced.index.passages if "Owl" in passage.title} == {"Owl (South)"} | owls
    assert (synced.added, synced.removed) == (1, 1)
    assert str(sync_index(synced.index, birds)).startswith("added 0 passages, removed 0, 6 unchanged")

    (birds / "north" / "owl.md").unlink()
    synced = sync_index(synced.index, birds)
    assert [passage.title for passage in synced.index.passages if "Owl" in passage.title] == ["Owl"]
    check_index(synced.index.path)


@pytest.mark.parametrize("doc_maxlen", [180, 24])  # fewer tokens than a document is split into
def test_texts_that_all_changed_are_replaced(doc_maxlen: int, tmp_path: Path) -> None:
    corpus = tmp_path / "birds.jsonl"

    def write(text: str) -> None:
        corpus.write_text("".join(json.dumps({"id": at, "text": f"{text} {at}."}) + "\n" for at in range(3)))

    write("Falcons dive")
    settings = IndexSettings(doc_maxlen=doc_maxlen)
    index = build_index(corpus, tmp_path / "index", settings=settings, progress=False)
    write("Owls hunt")
    synced = sync_index(index, corpus)
    assert (synced.added, synced.removed, len(synced.index)) == (3, 3, 3)
    assert synced.index.search("Owls hunt", 1)[0].text.startswith("Owls hunt")
    check_index(synced.index.path)


def test_a_link_is_told_by_its_own_name(tmp_path: Path) -> None:
    link = tmp_path / "birds.jsonl"
    for at, text in enumerate(("Falcons dive", "Owls hunt")):
        dump = tmp_path / f"dump-{at}.jsonl"
        dump.write_text("".join(json.dumps({"text": f"{text} {n}."}) + "\n" for n in range(3)))
        link.unlink(missing_ok=True)
        link.symlink_to(dump)
        if not at:
            index = build_index(link, tmp_path / "index", progress=False)
            remember_corpus(index, link, None)
    synced = sync_index(index, link)
    assert (synced.added, synced.removed) == (3, 3)


def test_passages_of_elsewhere_stay(birds: Path, built: ColBERTIndex) -> None:
    index = updating.add_passages(built, [Passage(pid="mine", text="Ravens are clever.")])
    (birds / "owl.md").unlink()
    assert "mine" in {passage.pid for passage in sync_index(index, birds).index.passages}


def test_a_folder_of_corpora(tmp_path: Path, encoded: list[str]) -> None:
    def lines(texts: dict[str, str]) -> Iterator[str]:
        return (f'{{"id": "{pid}", "text": "{text}"}}\n' for pid, text in texts.items())

    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "a.jsonl").write_text("".join(lines({"1": "Falcons dive.", "2": "Owls hunt.", "3": "Hawks circle."})))
    index = build_index(folder, tmp_path / "index", progress=False)
    (folder / "a.jsonl").write_text("".join(lines({"1": "Falcons dive.", "2": "Owls sleep.", "4": "Kites sail."})))
    synced = sync_index(index, folder)
    assert encoded == ["Owls sleep.", "Kites sail."]
    assert {passage.pid: passage.text for passage in synced.index.passages} == {
        "1": "Falcons dive.",
        "2": "Owls sleep.",
        "4": "Kites sail.",
    }
    (folder / "b.jsonl").write_text("".join(lines({"5": "Ravens plan.", "1": "Falcons dive."})))
    with pytest.warns(UserWarning, match="1 repeated passage left out"):
        assert sync_index(tmp_path / "index", folder).added == 1
    (folder / "b.jsonl").write_text("".join(lines({"5": "Ravens cache.", "1": "Falcons perch."})))
    with pytest.raises(PolyqaError, match=r"the id '1' already stands at .*a\.jsonl"):
        sync_index(tmp_path / "index", folder)
    assert [passage.pid for passage in ColBERTIndex(tmp_path / "index").passages] == ["1", "2", "4", "5"]


def test_two_passages_of_one_id(birds: Path, tmp_path: Path) -> None:
    (birds / "kites.jsonl").write_text('{"id": "1", "text": "Kites soar."}')
    documents = Documents(birds)
    index = build_index(documents, tmp_path / "index", progress=False)
    remember(index, documents)

    (birds / "crows.jsonl").write_text('{"id": "1", "text": "Crows caw."}')
    with pytest.raises(PolyqaError, match=r"kites.jsonl: the id '1' already stands at crows.jsonl; ids must be unique"):
        sync_index(index, birds)
    assert "Kites soar." in places(ColBERTIndex(index.path))

    (birds / "crows.jsonl").write_text('{"id": "1", "text": "Kites soar."}')  # the same passage in two files
    assert sync_index(index, birds).added == 0


def test_nothing_to_read_changes_nothing(birds: Path, built: ColBERTIndex, tmp_path: Path) -> None:
    for path in birds.iterdir():
        path.unlink()
    with pytest.raises(PolyqaError, match="holds no file that can be read"):
        sync_index(built, birds)
    with pytest.raises(PolyqaError, match="neither a folder nor a file"):
        sync_index(built, tmp_path / "nothing")
    assert len(ColBERTIndex(built.path)) == 4


def test_another_folder_replaces_nothing_without_a_word(birds: Path, built: ColBERTIndex, tmp_path: Path) -> None:
    (birds / "sea").mkdir()
    (birds / "sea" / "gull.md").write_text("# Gull\n\nGulls drink salt water.")
    built = sync_index(built, birds).index
    other = tmp_path / "fish"
    other.mkdir()
    (other / "cod.md").write_text("# Cod\n\nCod live in cold water.")
    for folder in (other, birds / "sea", birds / "owl.md"):
        with pytest.raises(PolyqaError, match=rf"built of {birds}; .* would remove \d passages of 5\..*--overwrite"):
            sync_index(built, folder)
    assert len(ColBERTIndex(built.path)) == 5
    moved = shutil.copytree(birds, tmp_path / "moved")  # the same folder, elsewhere
    (moved / "owl.md").unlink()
    assert sync_index(built, moved).removed == 1


@pytest.mark.parametrize("file", ["cod.md", "owl.md"])  # the second one as a sync leaves it that was stopped, too
def test_what_was_added_of_another_folder_goes(birds: Path, built: ColBERTIndex, file: str) -> None:
    added = Passage(pid="cod", text="Cod live in cold water.", metadata={"source": file})
    index = updating.add_passages(built, [added])
    assert sync_index(index, birds).removed == 1


def test_a_corpus_replaces_another_only_if_it_may(tmp_path: Path) -> None:
    index = build_index([Passage(pid=f"{at}", text=f"Owls eat {at} mice.") for at in range(3)], tmp_path / "index")
    remember_corpus(index, tmp_path / "owls.jsonl", None)
    corpus = tmp_path / "fish.jsonl"
    corpus.write_text('{"id": "cod", "text": "Cod live in cold water."}\n')
    with pytest.raises(PolyqaError, match=r"built of .*owls\.jsonl; .* 3 passages of 3"):
        sync_index(index, corpus)
    assert len(ColBERTIndex(index.path)) == 3


def test_a_checkpoint_that_nobody_named_is_not_even_fetched(
    birds: Path, built: ColBERTIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = built.folder / MANIFEST
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "checkpoint": "somebody/colbert"}))
    monkeypatch.setattr("polyqa.colbert_index.checkpoint._fetched", lambda name: pytest.fail(f"{name} was fetched"))
    with pytest.raises(PolyqaError, match="'somebody/colbert', which is not polyqa's own"):
        sync_index(built.path, birds)
