"""One Ctrl-C ends a long command at once, also while language models hang; what was finished is kept."""

import json
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from command_line import Printed
from hanging_engine import Hanging
from harness import ledger_rows
from interrupting import interrupted
from openai_server import serve
from writing_engine import WritingEngine

from polyqa.cli.display import at_work
from polyqa.extractive import ExtractiveEngine

THREADS = 2
MOST = 3.0  # seconds from Ctrl-C to the end; two, and what a busy machine takes


@dataclass(frozen=True)
class Case:
    """A command, after how many calls the server hangs, and the file that keeps so many results or lines, at least.

    Some are not run to their end: they begin again, or take long.
    """

    command: str
    after: int
    kept: str
    least: int
    goes_on: bool = True


EVALUATE = "evaluate --runs {out} --name run --limit"
COMPILE = "compile --train {train} --dev {dev} --out {out}/made --yes --recipe"
RUN, WORK = "run/predictions.jsonl", "made/.work"
CASES = {
    "evaluate": Case(f"{EVALUATE} 10 --program closed-book --judge none", 4, RUN, 3),
    "evaluate, many calls a question": Case(f"{EVALUATE} 4 --program verdict --judge none", 60, RUN, 1),
    "evaluate, the judge": Case(
        f"{EVALUATE} 4 --program rac --lm polyqa/extractive --judge {{lm}}@{{base}}",
        6,
        RUN,
        0,
        goes_on=False,
    ),
    "questions build": Case(
        "questions build --index six --spans 8 --out {out}/questions", 40, ".questions.journal.sqlite", 2
    ),
    "compile": Case(f"{COMPILE} knn-bootstrap --program closed-book", 10, f"{WORK}/before/predictions.jsonl", 4),
    "compile, its first question": Case(
        f"{COMPILE} knn-bootstrap --program verdict", 3, f"{WORK}/calls.json", 0, False
    ),
    "compile, an optimizer of DSPy's": Case(
        f"{COMPILE} bootstrap-random-search --program closed-book", 6, f"{WORK}/before/predictions.jsonl", 4
    ),
    "compile, an optimizer that waits for its own threads": Case(
        f"{COMPILE} gepa --program closed-book", 14, f"{WORK}/before/predictions.jsonl", 4, goes_on=False
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_one_ctrl_c_is_enough_and_the_same_command_goes_on(
    name: str, printed: Printed, small: dict[str, Path], home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[name]
    if "six" in case.command:
        monkeypatch.setenv("POLYQA_HOME", str(home))
    engine = Hanging(WritingEngine(ExtractiveEngine()), case.after)
    with serve(engine) as server:
        model = f"openai/{uuid.uuid4().hex}"  # a new name: nothing comes out of DSPy's cache on disk
        words = case.command.format(out=tmp_path, base=server.base, lm=model, **small).split()
        if "--lm" not in words:
            words += ["--lm", model, "--api-base", server.base]
        words += ["--threads", str(THREADS)]
        ended = interrupted(words, lambda: bool(engine.hanging), later=0.5)  # the other threads come to hang, too
        assert ended.seconds < MOST
        assert ended.code == 130, ended.err
        assert engine.hanging, "it was interrupted when it hung"
        assert ended.err.endswith("interrupted\n")
        assert "Traceback" not in ended.err
        assert not ended.out
        assert len(results(tmp_path / case.kept)) >= case.least
        asked, answered = len(server.requests), engine.answered
        engine.released.set()
        if case.goes_on:
            printed(*words)
            assert engine.answered > answered
            again = [request for request in server.requests[asked:] if request in server.requests[:asked]]
            assert len(again) <= engine.hanging or "knn-bootstrap" not in words, "nothing that is in it is made again"


@pytest.mark.parametrize(("overwrite", "less"), [(False, ""), (True, " without --overwrite")])
def test_it_is_told_how_to_go_on(overwrite: bool, less: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt), at_work(overwrite=overwrite):
        raise KeyboardInterrupt
    assert capsys.readouterr().err == f"What is done stays; the same command{less} goes on.\n"


def results(file: Path) -> dict[str, Any]:
    """Return what a ledger holds by id, or a file of JSON lines."""
    if file.suffix == ".sqlite":
        return ledger_rows(file)
    return {line: json.loads(line) for line in file.read_text().splitlines()}
