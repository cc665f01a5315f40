"""Runs RAC with the embedded engine over questions, undisturbed and killed again and again.

python killed_runs.py FOLDER INDEX QUESTIONS KILLS SEED

Every run is a fork of one process that has loaded everything and answered nothing: what stays real is the
program, the runner, its files and the SIGKILL. Prints how many whole lines there were at each kill.
"""

import json
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

os.environ["POLYQA_TEST_RESULTS"] = "off"  # a run is killed while its models work

import colbert.infra  # noqa: F401  sets TOKENIZERS_PARALLELISM when it is imported, which must not come later
from tqdm.std import TqdmDefaultWriteLock, tqdm

from polyqa.evaluating import make_scorer
from polyqa.evaluation.loading import load_questions
from polyqa.evaluation.runner import run_program
from polyqa.evaluation.runs import PREDICTIONS, RunSettings
from polyqa.extractive import ExtractiveEngine, embedded_lm
from polyqa.loading import load, warm_up
from polyqa.models import Reader

# A progress bar's lock is a semaphore that forks share: a child killed while it draws would hold it for ever, and
# every later child would wait. No process here draws into another's terminal.
TqdmDefaultWriteLock.mp_lock = None
tqdm.monitor_interval = 0  # and no thread of the parent holds the lock of threads at a fork


def fork(work: Callable[[], object]) -> int:
    """Do the work in a child; its exit code is 0 unless the work raises."""
    child = os.fork()
    if child:
        return child
    try:
        work()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def lines(file: Path) -> int:
    """Return how many whole lines a file has."""
    return file.read_bytes().count(b"\n") if file.exists() else 0


def main(folder: Path, index: str, count: int, kills: int, seed: int) -> None:
    """Make both runs."""
    chance = random.Random(seed)
    # In bfloat16, the engine's default, a near-tie of two spans can fall either way with what else is in the
    # batch, and a resumed run has other batches.
    lm = embedded_lm(ExtractiveEngine(reader=Reader()))
    program, scorer = load("rac", index=index, passages=2), make_scorer(judge=None)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # their threads would not survive a fork
    warm_up(program, lm)
    questions = load_questions("homonyms/dev", limit=count)
    settings = RunSettings(program="rac", lm=lm.model, reader=scorer.reader.name, questions="homonyms", n=count)

    def run(name: str) -> int:
        return fork(
            lambda: run_program(
                program, questions, lm=lm, scorer=scorer, folder=folder / name, settings=settings, threads=2
            )
        )

    _, status = os.waitpid(run("whole"), 0)
    assert status == 0, "the undisturbed run failed"
    file = folder / "killed" / PREDICTIONS
    seen = []
    for _ in range(kills):
        before = lines(file)
        left = count - before > 8
        wanted = before + (chance.choice([0, 1, 2]) if left else 0)
        child = run("killed")
        while lines(file) < wanted and os.waitpid(child, os.WNOHANG) == (0, 0):
            time.sleep(0.002)
        time.sleep(chance.uniform(0.0, 0.15 if left else 0.03))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), "the run had ended before it was killed"
        seen.append(lines(file))
    _, status = os.waitpid(run("killed"), 0)
    assert status == 0, "the last run failed"
    print(json.dumps(seen))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:6]))
