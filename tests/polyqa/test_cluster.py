"""Workers on a real Ray cluster of this machine."""

import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import dspy
import pytest

import polyqa
from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.batch import answer_many
from polyqa.cluster import Ray, cluster, for_workers, on_ray
from polyqa.colbert_index import build_index
from polyqa.colbert_index.shards import Part, build_shard
from polyqa.models import Encoder

ray: Any = pytest.importorskip("ray", reason="Ray is an extra: pip install 'polyqa[ray]'")

pytestmark = pytest.mark.slow
QUESTIONS = ["When did Titanic come out?", "Who founded Alexandria?", "What is Mercury?", " "]


def test_an_address_without_a_cluster_is_told_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(PolyqaError, match=r"There is no Ray cluster at 127\.0\.0\.1:1 .*ray start"):
        answer_many(QUESTIONS, tmp_path / "a.jsonl", program="rac", batch=polyqa.Batch(ray=Ray(2, "127.0.0.1:1")))


@pytest.fixture(scope="module")
def running() -> Iterator[None]:
    """A cluster that all tests here use; each on its own would start one for five seconds."""
    earlier = signal.signal(signal.SIGTERM, told_of_the_end)
    with cluster(Ray(2)):
        yield
    assert signal.signal(signal.SIGTERM, earlier) is told_of_the_end


def told_of_the_end(number: int, frame: FrameType | None) -> None:
    """What a program has set to hear of SIGTERM."""


@pytest.mark.usefixtures("running")
def test_a_cluster_leaves_a_program_to_hear_of_its_end() -> None:
    assert signal.getsignal(signal.SIGTERM) is told_of_the_end


def killing_once(folder: Path) -> Any:
    """Return what is called with every item: the item ``die`` ends the first worker that has it, as a kill does."""

    def work(item: str) -> tuple[str, int]:
        if item == "die" and not (folder / "died").exists():
            (folder / "died").write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return item, os.getpid()

    return work


def failing() -> Any:
    raise PolyqaError("no index here")


@pytest.mark.usefixtures("running")
def test_what_a_lost_worker_had_is_done_again(tmp_path: Path) -> None:
    import asyncio

    async def all_of_them(workers: Any) -> list[tuple[str, int]]:
        return await asyncio.gather(*(workers.call(item) for item in ("a", "die", "b", "c")))

    with on_ray(partial(killing_once, tmp_path), Ray(2), at_once=2) as workers:
        done = asyncio.run(all_of_them(workers))
    assert [item for item, _ in done] == ["a", "die", "b", "c"]
    assert dict(done)["die"] not in (int((tmp_path / "died").read_text()), os.getpid())


@pytest.mark.usefixtures("running")
@pytest.mark.parametrize(
    ("workers", "message"),
    [
        (0, "at least 1 worker"),
        (1, "worker of the cluster cannot start: .*no index here"),
        (9, "has 2 CPUs, too few for 9 workers"),
    ],
)
def test_workers_that_cannot_start_are_told_in_a_line(workers: int, message: str) -> None:
    with pytest.raises(PolyqaError, match=message) as caught, on_ray(failing, Ray(workers), at_once=1):
        pass
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("running")
def test_a_cluster_answers_and_evaluates_as_this_process_does(tmp_path: Path) -> None:
    here = answer_many(QUESTIONS, tmp_path / "here.jsonl", program="rac")
    there = answer_many(QUESTIONS[:2], tmp_path / "there.jsonl", program="rac", batch=polyqa.Batch(2, ray=Ray(2)))
    there = answer_many(QUESTIONS, tmp_path / "there.jsonl", program="rac", batch=polyqa.Batch(2, ray=Ray(2)))

    def without_time(lines: Any) -> list[dict[str, Any]]:
        return [{name: value for name, value in line.items() if name != "seconds"} for line in lines]

    assert without_time(there) == without_time(here)
    assert list(there.failed) == ["4"]
    questions = polyqa.Questions("homonyms/dev", limit=4)
    runs = [
        polyqa.evaluate("rac", questions, models=polyqa.Models(judge=None), folder=tmp_path / name, **given)
        for name, given in (("a", {}), ("b", {"ray": Ray(2), "threads": 1}))
    ]
    assert runs[0].summarized()["disambig_f1"] == runs[1].summarized()["disambig_f1"]
    assert [one.answer for one in runs[0].records] == [one.answer for one in runs[1].records]


def building_and_dying_once(folder: Path) -> Any:
    """Return what builds a shard; the first worker that gets the second one is killed over it."""

    def build(part: Part) -> int:
        if part.folder.name == "0001" and not (folder / "died").exists():
            (folder / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return build_shard(part)

    return build


@pytest.mark.usefixtures("running")
def test_a_cluster_builds_the_shards_that_this_process_does(
    passages: list[Passage], encoder: Encoder, tmp_path: Path
) -> None:
    here = build_index(passages, tmp_path / "here", encoder=encoder, shards=3, progress=False)
    with on_ray(partial(building_and_dying_once, tmp_path), Ray(2), at_once=1) as workers:
        there = build_index(passages, tmp_path / "there", encoder=encoder, shards=3, run=workers.map, progress=False)
    assert (tmp_path / "died").exists()
    assert there.manifest == here.manifest
    for query in QUESTIONS[:3]:
        found, expected = there.search(query, 5), here.search(query, 5)
        assert [one.pid for one in found] == [one.pid for one in expected]
        assert [one.score for one in found] == pytest.approx([one.score for one in expected], abs=0.05)


@pytest.mark.usefixtures("running")
def test_a_call_that_fails_is_told_in_a_line_and_ends_the_others() -> None:
    def make() -> Any:
        def work(item: int) -> int:
            if item == 1:
                raise OSError(28, "No space left on device")
            return item

        return work

    with on_ray(make, Ray(2), at_once=1) as workers:
        with pytest.raises(PolyqaError, match=r"worker .* failed: .*No space left.* is kept") as caught:
            list(workers.map([0, 1, 2, 3, 4, 5, 6, 7]))
        assert "\n" not in str(caught.value)
        assert sorted(workers.map([0, 2, 3, 4])) == [0, 2, 3, 4]


@pytest.mark.usefixtures("running")
def test_a_worker_finds_paths_where_they_are_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.json").touch()
    with on_ray(lambda: os.path.exists, Ray(1), at_once=1) as workers:
        assert list(workers.map(["mine.json", "yours.json"])) == [True, False]


def test_an_adapter_does_not_travel_unnoticed() -> None:
    with (
        dspy.context(adapter=dspy.JSONAdapter()),
        pytest.raises(PolyqaError, match="workers ask through polyqa's own adapter"),
    ):
        for_workers("rac", {}, polyqa.Models())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda: {"program": polyqa.load("rac")}, "each worker makes the program: hand over its name"),
        (lambda: {"models": polyqa.Models(lm=polyqa.embedded_lm())}, "give lm by its name"),
    ],
    ids=["program", "lm"],
)
def test_objects_do_not_travel(given: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(PolyqaError, match=message):
        answer_many(QUESTIONS, tmp_path / "a.jsonl", batch=polyqa.Batch(ray=Ray(2)), **given())
    assert not list(tmp_path.iterdir())
