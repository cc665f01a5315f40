"""A language model's server that fails: what is finished is kept, the same command asks the rest, no figure lies."""

import json
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from command_line import Run
from dspy.lm15 import Request, Response
from openai_server import Wire, serve

from polyqa.artifacts.store import read_artifact
from polyqa.colbert_index import build_index, read_corpus
from polyqa.colbert_index.store import checkpoint_home
from polyqa.evaluation.runs import SETTINGS, open_run
from polyqa.extractive import ExtractiveEngine
from polyqa.models import Encoder

Words = tuple[object, ...]
CORPUS = Path(__file__).parents[2] / "questions" / "corpus.jsonl"
EVALUATE = ("evaluate", "--program", "closed-book", "--judge", "none", "--limit", "30", "--name", "run")


@pytest.fixture(scope="module")
def engine() -> ExtractiveEngine:
    return ExtractiveEngine()


class Outage:
    """Serves an engine that fails, as a server does in an outage, at the calls, counted from 0, that it is told."""

    def __init__(self, engine: ExtractiveEngine, fails: Callable[[int], bool], status: int) -> None:
        self.engine, self.fails, self.status = engine, fails, status
        self.calls = 0
        self._lock = threading.Lock()

    def complete(self, request: Request) -> Response:
        with self._lock:
            number, self.calls = self.calls, self.calls + 1
        if self.fails(number):
            raise Wire('{"error": {"message": "it is out of order"}}', self.status)
        return self.engine.complete(request)

    def mend(self) -> None:
        """Fail no more, and count from 0."""
        self.fails, self.calls = lambda number: False, 0


@contextmanager
def serving(
    engine: ExtractiveEngine, fails: Callable[[int], bool], status: int = 500
) -> Iterator[tuple[Words, Outage]]:
    """Give the options that name a model of such a server, and its engine."""
    outage = Outage(engine, fails, status)
    with serve(outage) as server:
        model = f"openai/{uuid.uuid4().hex}"  # a new name: nothing comes out of DSPy's cache on disk
        yield ("--lm", model, "--api-base", server.base, "--threads", "2", "--retries", "0"), outage


def last_line(err: str) -> str:
    return err.strip().splitlines()[-1]


def test_an_evaluation_stops_and_the_same_command_asks_what_failed(
    run: Run, engine: ExtractiveEngine, tmp_path: Path
) -> None:
    with serving(engine, lambda number: number >= 14) as (words, outage):
        command = (*EVALUATE, "--runs", tmp_path, *words)
        code, out, err = run(*command)
        assert (code, out) == (2, "")
        assert "questions fail one after the other" in last_line(err)
        assert "the same command again" in last_line(err)
        stopped = open_run(tmp_path / "run")
        assert len(stopped.records) < 30
        assert "api" not in (tmp_path / "run" / SETTINGS).read_text(), "neither keys nor addresses are kept"
        well = sum(record.error is None for record in stopped.records)
        outage.mend()
        assert run(*command)[0] == 0
        assert outage.calls == 30 - well
    with serving(engine, lambda number: False) as (words, _):
        run(*EVALUATE, "--runs", tmp_path / "whole", *words)
    again, whole = open_run(tmp_path / "run"), open_run(tmp_path / "whole" / "run")
    assert [one.answer for one in again.records] == [one.answer for one in whole.records]


def test_an_evaluation_that_finished_with_failures_says_so(run: Run, engine: ExtractiveEngine, tmp_path: Path) -> None:
    with serving(engine, lambda number: number % 8 > 3) as (words, outage):  # two tries a question, two threads
        command = (*EVALUATE, "--runs", tmp_path, *words)
        code, _, err = run(*command)
        failed = open_run(tmp_path / "run").failed
        assert 0 < failed < 30
        assert code == 3
        assert last_line(err).startswith(f"{failed} of 30 questions failed: ")
        assert "out of order" in last_line(err)
        outage.mend()
        assert run(*command)[0] == 0
        assert outage.calls == failed


def test_nothing_done_is_no_success(run: Run, engine: ExtractiveEngine, tmp_path: Path) -> None:
    with serving(engine, lambda number: True, 401) as (words, _):
        code, _, err = run(*EVALUATE, "--limit", "3", "--runs", tmp_path, *words)
    assert code == 2
    assert last_line(err).startswith("3 of 3 questions failed: ")


@pytest.mark.parametrize(
    "recipe",
    ["knn", *(pytest.param(one, marks=pytest.mark.slow) for one in ("knn-bootstrap", "bootstrap-random-search"))],
)
def test_a_compilation_writes_no_artifact_of_an_outage_and_goes_on(
    run: Run, engine: ExtractiveEngine, tmp_path: Path, recipe: str
) -> None:
    sets = ("--train", "homonyms/train", "--dev", "homonyms/dev", "--yes", "--recipe", recipe)
    with serving(engine, lambda number: number >= 24) as (words, outage):
        command = ("compile", "--program", "closed-book", *sets, "--out", tmp_path / "made", *words)
        code, _, err = run(*command)
        assert code == 2
        assert "fail one after the other" in last_line(err)
        assert not (tmp_path / "made" / "card.json").exists()
        outage.mend()
        assert run(*command)[0] == 0
        assert outage.calls > 0
    gain = read_artifact(tmp_path / "made").card.dev_gain
    assert gain is not None
    assert (gain.failed_before, gain.failed_after, gain.tells) == (0, 0, True)


def test_a_compilation_with_failures_tells_no_difference(
    run: Run, engine: ExtractiveEngine, small: dict[str, Path], tmp_path: Path
) -> None:
    sets = ("--train", small["train"], "--dev", small["dev"], "--yes", "--recipe", "knn")
    with serving(engine, lambda number: number in (2, 3, 4)) as (words, outage):
        command = ("compile", "--program", "closed-book", *sets, "--out", tmp_path / "made", *words, "--threads", "1")
        code, out, err = run(*command)
        gain = read_artifact(tmp_path / "made").card.dev_gain
        assert gain is not None
        assert (gain.failed_before, gain.failed_after) == (1, 0)
        assert code == 3
        assert "says nothing" in out
        assert "1 of 8 questions failed" in last_line(err)
        assert "says nothing" in (tmp_path / "made" / "README.md").read_text()
        outage.mend()
        code, out, _ = run(*command)
        assert (code, "says nothing" in out) == (0, False)
        assert outage.calls > 0
    gain = json.loads((tmp_path / "made" / "card.json").read_text())["dev_gain"]
    assert (gain["failed_before"], gain["failed_after"]) == (0, 0)


def test_a_database_of_questions_is_finished_by_the_same_command(
    run: Run, engine: ExtractiveEngine, encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "checkpoints").symlink_to(checkpoint_home(), target_is_directory=True)
    monkeypatch.setenv("POLYQA_HOME", str(tmp_path))
    build_index(read_corpus(CORPUS)[:14], tmp_path / "indexes" / "some", encoder=encoder, progress=False)
    build = ("questions", "build", "--index", "some", "--spans", "8")  # in many calls
    with serving(engine, lambda number: number >= 16) as (words, outage):
        code, _, err = run(*build, *words)
        assert code == 2
        assert "passages fail one after the other" in last_line(err)
        outage.mend()
        outage.fails = lambda number: number in (3, 4, 5, 6)
        code, _, err = run(*build, *words)
        assert code == 3
        assert "passages failed. The same command repeats them." in last_line(err)
        outage.mend()
        assert run(*build, *words)[0] == 0
        assert outage.calls > 0
        code, _, err = run(*build, *words)
        assert (code, "--overwrite" in err) == (2, True)
