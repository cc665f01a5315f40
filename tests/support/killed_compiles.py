"""Compiles RAC with the embedded engine, undisturbed and killed twice.

python killed_compiles.py FOLDER

Every run is a fork of one process that has loaded the models. A run that is to be killed kills itself, in the midst of
its other thread's work, as soon as it has made so many calls. Prints for each run how many it made, and the hash of its
program.
"""

import importlib
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import colbert.infra  # noqa: F401  sets TOKENIZERS_PARALLELISM when it is imported, which must not come later
from tqdm.std import TqdmDefaultWriteLock, tqdm

import polyqa
from polyqa.artifacts.state import program_hash
from polyqa.evaluation.loading import load_questions
from polyqa.extractive import ExtractiveEngine, embedded_lm
from polyqa.loading import warm_up
from polyqa.metrics.optimizing import AnswerMetric
from polyqa.models import Reader
from polyqa.optimizers import Plan, compile, recipe
from polyqa.optimizers.calls import CallCounter

# A progress bar's lock is a semaphore that forks share: a child killed while it draws would hold it for ever, and
# every later child would wait. No process here draws into another's terminal.
TqdmDefaultWriteLock.mp_lock = None
tqdm.monitor_interval = 0  # and no thread of the parent holds the lock of threads at a fork

MOST = (9, 7, None)
"""How many calls each run after the undisturbed one makes before it is killed; the last one is not."""


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


def undisturbed(work: Callable[[], object], folder: Path) -> None:
    """Do the work in a child, and import here what it imported, so that no later child has to."""
    modules = folder / "modules"

    def working() -> None:
        work()
        modules.write_text("\n".join(sys.modules))

    _, status = os.waitpid(fork(working), 0)
    assert status == 0, "the undisturbed run failed"
    for name in modules.read_text().splitlines():
        with suppress(ImportError):  # some names stand for modules that are no files
            importlib.import_module(name)


def main(folder: Path) -> None:
    # In bfloat16, the engine's default, a near-tie of two spans can fall either way with what else is in the
    # batch, and a resumed run has other batches.
    reader = Reader()
    program, lm = polyqa.load("rac"), embedded_lm(ExtractiveEngine(reader=reader))
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # their threads would not survive a fork
    warm_up(program, lm)
    chosen = recipe("knn-bootstrap").model_copy(update={"threshold": 0.2})
    train, dev = load_questions("homonyms/train")[:16], load_questions("homonyms/dev")[:4]
    plan = Plan(train, dev, chosen, AnswerMetric(reader), lm, threads=2)

    def run(place: str, file: Path, most: int | None) -> None:
        reserve = CallCounter.reserve

        def reserve_and_count(self: CallCounter, calls: int) -> None:
            reserve(self, calls)
            with file.open("a") as out:
                print(calls, file=out)
            if most is not None and len(file.read_text().splitlines()) >= most:
                os.kill(os.getpid(), signal.SIGKILL)

        CallCounter.reserve = reserve_and_count  # type: ignore[method-assign]
        made = compile(program, plan, folder / place)
        file.with_suffix(".program").write_text(program_hash(made.program))

    undisturbed(partial(run, "whole", folder / "whole.calls", None), folder)
    for number, most in enumerate(MOST):
        _, status = os.waitpid(fork(partial(run, "killed", folder / f"{number}.calls", most)), 0)
        assert os.WIFSIGNALED(status) if most else status == 0, f"run {number} ended with {status}"
    print(json.dumps([outcome(folder / f"{name}.calls") for name in ("whole", *range(len(MOST)))]))


def outcome(file: Path) -> dict[str, object]:
    """Return how many calls a run made, and the hash of the program that it made, if it ended."""
    program = file.with_suffix(".program")
    return {"calls": len(file.read_text().split()), "program": program.read_text() if program.exists() else None}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
