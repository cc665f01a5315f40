"""A build tells what it is at: no stage goes on for minutes without a word or a bar that moves."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from polyqa.base.values import Passage
from polyqa.colbert_index import build, build_index, compressing, shards
from polyqa.colbert_index.stages import Advance
from polyqa.models import Encoder

ONE_CHUNK = [
    "loading the checkpoint",
    "encoding",
    "finding centroids",
    "measuring residuals",
    "compressing",
    "writing the inverted file",
    "encoding for reranking",
    "writing passages and terms",
    "writing checksums",
]
CHUNKS = [*ONE_CHUNK[:1], "encoding a sample", *ONE_CHUNK[2:4], "encoding", *ONE_CHUNK[4:]]


@pytest.mark.parametrize(("chunk", "names"), [(25_000, ONE_CHUNK), (15, CHUNKS)])
def test_every_stage_has_a_name_and_moves_to_its_end(
    passages: list[Passage],
    encoder: Encoder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    chunk: int,
    names: list[str],
) -> None:
    totals: dict[str, int | None] = {}
    moves: dict[str, list[float]] = {}

    @contextmanager
    def recording(name: str, total: int | None = None, thing: str = "") -> Iterator[Advance]:
        totals[name], moves[name] = total, []
        yield moves[name].append

    for room in (build, compressing, shards):
        monkeypatch.setattr(room, "stage", recording)
    monkeypatch.setattr(compressing, "_CHUNK", chunk)
    monkeypatch.setattr(shards, "_AT_ONCE", 16)
    built = build_index(passages, tmp_path / "x", encoder=encoder)
    assert list(totals) == names
    for name, total in totals.items():
        if total is not None:
            assert sum(moves[name]) == pytest.approx(total), name
    assert totals["compressing"] == len(passages)
    assert len(moves["compressing"]) == (3 if names is CHUNKS else 1)
    assert len(moves["finding centroids"]) == built.settings.kmeans_iterations
    assert moves["encoding for reranking"] == [16, 16, 8]


def test_every_stage_is_shown(passages: list[Passage], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build_index(passages[:5], tmp_path / "x", shards=2)
    told = capsys.readouterr()
    assert told.out == ""
    for shown in ("building shards: 100%", "5/5", "finding centroids: 100%", "4/4", "writing checksums [00:0"):
        assert shown in told.err
    build_index(passages[:5], tmp_path / "y", progress=False)
    assert capsys.readouterr().err == ""
