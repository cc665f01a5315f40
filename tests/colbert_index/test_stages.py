"""A build tells what it is at: no stage goes on for minutes without a word or a bar that moves."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from polyqa.base.values import Passage
from polyqa.colbert_index import build, build_index, compressing, shards
from polyqa.colbert_index.stages import Advance, Stages
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


class Recorder(Stages):
    """Keeps the stages, how much there was to do in each, and how it moved."""

    def __init__(self) -> None:
        super().__init__()
        self.totals: dict[str, int | None] = {}
        self.moves: dict[str, list[float]] = {}

    @contextmanager
    def stage(self, name: str, total: int | None = None, thing: str = "") -> Iterator[Advance]:
        self.totals[name] = total
        self.moves[name] = []
        yield self.moves[name].append


@pytest.mark.parametrize(("chunk", "names"), [(25_000, ONE_CHUNK), (15, CHUNKS)])
def test_every_stage_has_a_name_and_moves_to_its_end(
    passages: list[Passage],
    encoder: Encoder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    chunk: int,
    names: list[str],
) -> None:
    recorder = Recorder()

    @contextmanager
    def recording(show: bool) -> Iterator[Stages]:
        assert show
        yield recorder

    monkeypatch.setattr(build, "stages", recording)
    monkeypatch.setattr(compressing, "_CHUNK", chunk)
    monkeypatch.setattr(shards, "_AT_ONCE", 16)
    built = build_index(passages, tmp_path / "x", encoder=encoder)
    assert list(recorder.totals) == names
    for name, total in recorder.totals.items():
        if total is not None:
            assert sum(recorder.moves[name]) == pytest.approx(total), name
    assert recorder.totals["compressing"] == len(passages)
    assert len(recorder.moves["compressing"]) == (3 if names is CHUNKS else 1)
    assert len(recorder.moves["finding centroids"]) == built.settings.kmeans_iterations
    assert recorder.moves["encoding for reranking"] == [16, 16, 8]


def test_without_a_terminal_every_stage_is_a_line(
    passages: list[Passage], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build_index(passages[:5], tmp_path / "x")
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == [
        "loading the checkpoint …",
        "encoding: 5 passages …",
        "finding centroids: 4 rounds …",
        "measuring residuals …",
        "compressing: 5 passages …",
        "writing the inverted file …",
        "writing passages and terms …",
        "writing checksums …",
    ]


def test_on_a_terminal_every_stage_is_a_bar() -> None:
    from io import StringIO

    from rich.console import Console
    from rich.progress import Progress, TextColumn

    shown = StringIO()
    console = Console(file=shown, force_terminal=True, width=80, color_system=None)
    with Progress(TextColumn("{task.description} {task.fields[count]}"), console=console) as bars:
        stages = Stages(bars)
        with stages.stage("encoding", 2_000, "passage") as advance:
            advance(1_000.4)
            assert [task.percentage for task in bars.tasks] == [pytest.approx(50, abs=0.1)]
            assert bars.tasks[0].fields["count"] == "1,000/2,000 passages"
            advance(999.6)
        with stages.stage("writing"):
            assert bars.tasks[1].total is None
        assert all(task.finished for task in bars.tasks)
    assert "writing" in shown.getvalue()
