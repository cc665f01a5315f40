"""An index in shards is one index: built in parts, found as one, changed where it must be."""

import json
import os
import resource
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.colbert_index import (
    BiEncoderReranker,
    ColBERTIndex,
    FusedRetriever,
    IndexFaultError,
    SearchSettings,
    add_passages,
    build_index,
    check_index,
    delete_index,
    remove_passages,
)
from polyqa.colbert_index.compressed import CompressedVectors
from polyqa.colbert_index.compressing import write_inverted_file
from polyqa.colbert_index.files import read_part, write_checksums
from polyqa.colbert_index.settings import fingerprint
from polyqa.colbert_index.shards import Part, _keep_only, build_shard, shards_home, spool
from polyqa.models import Encoder

QUERIES = ["what stops the kite from spinning", "why does printing metal hold lead", "salt in the tea"]
NEW = Passage(pid="marmot", title="Marmot", text="A marmot whistles when an eagle crosses the meadow.")


@pytest.fixture
def copied(sharded: ColBERTIndex, tmp_path: Path) -> ColBERTIndex:
    return ColBERTIndex(shutil.copytree(sharded.path, tmp_path / "copy"))


def test_all_passages_are_there_and_found(
    sharded: ColBERTIndex, index: ColBERTIndex, passages: list[Passage], encoder: Encoder
) -> None:
    assert len(sharded) == len(passages)
    assert sharded.manifest.shards == len(sharded.parts) == 3
    assert [len(part) for part in sharded.positions_of_parts] == [14, 13, 13]
    assert [one.pid for one in sharded.positions_of_parts[1] if one] == [one.pid for one in passages[1::3]]
    assert sharded.fingerprint != index.fingerprint
    for passage in passages:
        for retriever in (sharded, sharded.bm25, FusedRetriever([sharded, sharded.bm25])):
            assert retriever.search(passage.text, 3)[0].pid == passage.pid
        position = sharded.position(passage)
        assert position is not None
        stored, ordinary = sharded.vectors(encoder.name), index.vectors(encoder.name)
        assert stored is not None
        assert ordinary is not None
        np.testing.assert_allclose(stored[position], ordinary[index.position(passage)], atol=2e-2)
    assert check_index(sharded.path).fingerprint == sharded.fingerprint
    scores = BiEncoderReranker(encoder, sharded).score(QUERIES, passages)
    np.testing.assert_allclose(scores, BiEncoderReranker(encoder).score(QUERIES, passages), atol=2e-2)
    assert not shards_home(sharded.path).exists()


def test_the_vectors_are_those_of_one_index_with_the_same_centroids(sharded: ColBERTIndex, tmp_path: Path) -> None:
    one = tmp_path / "one"
    shutil.copytree(sharded.parts[0], one, ignore=shutil.ignore_patterns("ivf*"))
    before = 0
    for number, part in enumerate(sharded.parts):
        for name in ("{}.codes.pt", "{}.residuals.pt", "{}.metadata.json", "doclens.{}.json"):
            shutil.copyfile(part / name.format(0), one / name.format(number))
        described = one / f"{number}.metadata.json"
        described.write_text(json.dumps({**json.loads(described.read_text()), "passage_offset": before}))
        before += len(sharded.positions_of_parts[number])
    write_inverted_file(one, 3, read_part(one / "metadata.json")["config"])
    whole, parts = CompressedVectors([one]), CompressedVectors(sharded.parts)
    for query in sharded.query_encoder(QUERIES):
        for settings in (SearchSettings(), SearchSettings(ncells=1, ndocs=5, candidates=7)):
            assert parts.search(query, 10, settings) == whole.search(query, 10, settings) != []


def test_equal_builds_are_equal_and_the_number_of_shards_counts(
    sharded: ColBERTIndex, passages: list[Passage], encoder: Encoder, tmp_path: Path
) -> None:
    again = build_index(passages, tmp_path / "again", encoder=encoder, shards=3, progress=False)
    assert again.manifest == sharded.manifest
    assert again.search_many(QUERIES, 5) == sharded.search_many(QUERIES, 5)
    hashed, settings = sharded.manifest.checkpoint_hash, sharded.settings
    assert fingerprint(sharded.positions, hashed, settings, 3) == sharded.fingerprint
    assert fingerprint(sharded.positions, hashed, settings, 2) != sharded.fingerprint


def test_additions_and_removals_change_the_shards_that_they_must(copied: ColBERTIndex, encoder: Encoder) -> None:
    def files(index: ColBERTIndex, shard: int) -> dict[str, int]:
        return {path.name: path.stat().st_ino for path in index.parts[shard].rglob("*.pt")}

    before = copied
    more = add_passages(copied, [NEW])
    assert [len(part) for part in more.positions_of_parts] == [14, 14, 13]
    assert more.search("why does a marmot whistle")[0].pid == "marmot"
    assert [files(more, shard) == files(before, shard) for shard in range(3)] == [True, False, True]
    assert before.search("why does a marmot whistle")[0].pid != "marmot"  # what was opened stays
    gone = before.positions_of_parts[2][0]
    assert gone is not None
    less = remove_passages(more, ["marmot", gone.pid])
    assert [files(less, shard) == files(more, shard) for shard in range(3)] == [True, False, False]
    assert gone.pid not in {found.pid for found in less.search(gone.text, 40)}
    assert len(less) == len(before) - 1
    stored = less.vectors(encoder.name)
    assert stored is not None
    assert len(stored) == 41
    assert check_index(less.path).fingerprint == less.fingerprint


def test_a_shard_without_passages_goes_and_the_last_one_is_an_ordinary_index(copied: ColBERTIndex) -> None:
    def pids(shards: Iterable[int]) -> list[str]:
        return [one.pid for shard in shards for one in ColBERTIndex(copied.path).positions_of_parts[shard] if one]

    two = remove_passages(copied, pids([1]))
    assert (two.manifest.shards, len(two)) == (2, 27)
    one = remove_passages(two, pids([0]))
    assert (one.manifest.shards, len(one), one.parts) == (1, 13, [one.folder])
    held = one.passages[5]
    assert check_index(one.path).search(held.text)[0].pid == held.pid
    assert add_passages(one, [NEW]).search("why does a marmot whistle")[0].pid == "marmot"


class Failing:
    """Builds shards until one fails; keeps which ones were asked for."""

    def __init__(self, good: int) -> None:
        self.good = good
        self.asked: list[str] = []

    def __call__(self, parts: Sequence[Part]) -> Iterator[int]:
        for part in parts:
            self.asked.append(part.folder.name)
            if len(self.asked) > self.good:
                raise OSError(28, "No space left on device")
            yield build_shard(part)


def test_a_build_that_was_stopped_goes_on_with_what_was_finished(passages: list[Passage], tmp_path: Path) -> None:
    place, first, second = tmp_path / "index", Failing(1), Failing(9)
    with pytest.raises(OSError, match="No space left"):
        build_index(passages, place, shards=3, run=first, progress=False)
    half = shards_home(place) / ".0001"  # of a worker that was killed
    half.mkdir()
    (half / "0.codes.pt").write_bytes(b"half")
    with pytest.raises(IndexFaultError, match="There is no index"):
        ColBERTIndex(place)
    build_index(passages, place, shards=3, run=second, progress=False)
    assert (first.asked, second.asked) == (["0000", "0001"], ["0001", "0002"])
    assert check_index(place).search(passages[0].text)[0].pid == passages[0].pid
    assert not shards_home(place).exists()


def test_what_was_finished_of_another_build_is_not_used(passages: list[Passage], tmp_path: Path) -> None:
    place, run = tmp_path / "index", Failing(9)
    with pytest.raises(OSError, match="No space left"):
        build_index(passages, place, shards=3, run=Failing(2), progress=False)
    build_index([*passages[:-1], NEW], place, shards=3, run=run, progress=False)
    assert run.asked == ["0000", "0001", "0002"]
    check_index(place)


def test_a_damaged_note_of_what_was_being_built_is_of_another_build(tmp_path: Path) -> None:
    (tmp_path / "0000").mkdir()
    (tmp_path / "state.json").write_bytes(b"\xff")
    _keep_only(tmp_path, "{}")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"state.json": "{}"}


@pytest.mark.parametrize(
    "end",
    [
        lambda place, passages: delete_index(place),
        lambda place, passages: build_index(passages[:5], place, overwrite=True, progress=False),
    ],
    ids=["deleted", "built in one part"],
)
def test_the_rest_of_a_stopped_build_goes_with_the_index(
    end: Callable[[Path, list[Passage]], object], passages: list[Passage], tmp_path: Path
) -> None:
    place = tmp_path / "index"
    build_index(passages[:4], place, progress=False)
    with pytest.raises(OSError, match="No space left"):
        build_index(passages, place, shards=2, run=Failing(1), overwrite=True, progress=False)
    assert shards_home(place).is_dir()
    assert len(ColBERTIndex(place)) == 4
    end(place, passages)
    assert not shards_home(place).exists()


@pytest.mark.parametrize(
    ("count", "shards", "message"),
    [
        (2, 3, "2 passages make no 3 shards"),
        (4, 0, "1 to 10,000 shards, not 0"),
        (4, 10_001, "not 10,001"),
        (0, 2, "holds no passage"),
    ],
)
def test_shards_that_cannot_be_are_refused(
    count: int, shards: int, message: str, passages: list[Passage], tmp_path: Path
) -> None:
    with pytest.raises(PolyqaError, match=message):
        build_index(passages[:count], tmp_path / "index", shards=shards, progress=False)
    assert not (tmp_path / "index").exists()
    assert not shards_home(tmp_path / "index").exists()


def test_an_id_that_stands_twice_is_told(passages: list[Passage], tmp_path: Path) -> None:
    other = passages[3].model_copy(update={"text": "Another text."})
    message = f"passage {len(passages) + 1}: the id '{other.pid}' already stands at passage 4"
    with pytest.raises(PolyqaError, match=message):
        build_index([*passages, other], tmp_path / "index", shards=2, progress=False)
    assert not shards_home(tmp_path / "index").exists()


def test_a_passage_that_is_repeated_is_left_out(passages: list[Passage], tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="2 repeated passages left out"):
        index = build_index([passages[3], *passages, passages[3]], tmp_path / "index", shards=2, progress=False)
    assert sorted(one.pid for one in index.passages) == sorted(one.pid for one in passages)
    with pytest.raises(PolyqaError, match="1 passages make no 2 shards"):
        build_index([passages[3]] * 3, tmp_path / "none", shards=2, progress=False)


def damage(folder: Path, other: Path) -> None:
    path = folder / "shards" / "0002" / "0.residuals.pt"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.unlink()
    path.write_bytes(data)


def of_another_index(folder: Path, other: Path) -> None:
    part = folder / "shards" / "0001"
    for path in other.glob("*.pt"):
        (part / path.name).unlink()
        shutil.copyfile(path, part / path.name)
    write_checksums(folder)  # as somebody would who hides it


def of_other_centroids(folder: Path, other: Path) -> None:
    import torch

    path = folder / "shards" / "0001" / "centroids.pt"
    centroids = torch.load(path, weights_only=True)
    path.unlink()
    torch.save(centroids.flip(0), path)
    write_checksums(folder)


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda folder, _: shutil.rmtree(folder / "shards/0001"), "incomplete: shards/0001/0.codes.pt, "),
        (lambda folder, _: (folder / "shards/0002/0.codes.pt").unlink(), "shards/0002/0.codes.pt missing"),
        (damage, "0.residuals.pt is damaged"),
        (of_another_index, "do not match|does not match|different builds"),
        (of_other_centroids, "shards of the index at .* are of different builds"),
    ],
)
def test_a_damaged_shard_is_told_in_one_line(
    harm: Callable[[Path, Path], None], message: str, copied: ColBERTIndex, index: ColBERTIndex
) -> None:
    harm(copied.folder, index.folder)
    with pytest.raises(IndexFaultError, match=message) as told:
        ColBERTIndex(copied.path).search(QUERIES[0])
    assert "\n" not in str(told.value)


def test_a_damaged_shard_is_not_taken_over(copied: ColBERTIndex) -> None:
    damage(copied.folder, copied.folder)
    with pytest.raises(IndexFaultError, match=r"0002/0\.residuals\.pt is damaged"):
        add_passages(copied, [NEW])  # which would be another shard's
    assert ColBERTIndex(copied.path).version == copied.version


def test_what_a_later_build_goes_on_with_is_on_the_disk(
    passages: list[Passage], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: set[int] = set()
    monkeypatch.setattr(os, "fsync", lambda file: synced.add(os.fstat(file).st_ino))
    with pytest.raises(OSError, match="No space left"):
        build_index(passages, tmp_path / "index", shards=3, run=Failing(1), progress=False)
    for folder in (shards_home(tmp_path / "index") / "codec", shards_home(tmp_path / "index") / "0000"):
        assert {path.stat().st_ino for path in (folder, *folder.rglob("*"))} <= synced


def test_there_may_be_more_shards_than_open_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polyqa.colbert_index.shards._WRITTEN_AT_ONCE", 100)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = max(int(one.name) for one in Path("/dev/fd").iterdir())
    resource.setrlimit(resource.RLIMIT_NOFILE, (20 + most, limits[1]))
    try:
        spooled = spool([f"Passage {number}." for number in range(150)], tmp_path / "texts", 100)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    expected = [f"Passage {number}." for shard in range(100) for number in range(shard, 150, 100)]
    assert [passage.text for passage in spooled.passages()] == expected
