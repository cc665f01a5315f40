"""Runs RAC with the embedded engine over questions, undisturbed and killed again and again.

python killed_runs.py FOLDER QUESTIONS KILLS

Every run is a fork of one process that has loaded everything and answered nothing: what stays real is the
program, the runner, its files and the SIGKILL. Prints how many questions were kept at each kill.
"""

import importlib
import json
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import colbert.infra  # noqa: F401  sets TOKENIZERS_PARALLELISM when it is imported, which must not come later
from tqdm.std import TqdmDefaultWriteLock, tqdm

from polyqa.base.ledger import open_ledger
from polyqa.evaluating import make_scorer
from polyqa.evaluation.identity import RunIdentity
from polyqa.evaluation.loading import load_questions
from polyqa.evaluation.progress import showing
from polyqa.evaluation.runner import answer_one, run_answers
from polyqa.evaluation.runs import LEDGER, read_identity
from polyqa.extractive import ExtractiveEngine, embedded_lm
from polyqa.language_models import Models
from polyqa.loading import load, warm_up
from polyqa.models import Reader, Reading

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


def lines(file: Path) -> int:
    """Return how many whole lines a file has."""
    return file.read_bytes().count(b"\n") if file.exists() else 0


class Counting:
    """A bar that writes a line into a file for every step, those of earlier runs included.

    Parameters
    ----------
    text
        Only the steps of bars with this text are counted.
    """

    def __init__(self, file: Path, text: str = "") -> None:
        file.unlink(missing_ok=True)
        self.file, self.text = file, text

    @contextmanager
    def __call__(self, total: int, text: str) -> Iterator[Callable[..., None]]:
        """Count steps."""
        with self.file.open("ab", buffering=0) as out:
            yield lambda _=None: out.write(b"\n") if text == self.text else None


class Slow(Reader):
    """A reader that takes its time, as its results are stored: no run is over before it is killed."""

    def read(self, pairs: Sequence[tuple[str, str]], *, keep: int = 1) -> list[Reading]:
        """Read every pair, after a while."""
        time.sleep(0.15)
        return super().read(pairs, keep=keep)


def main(folder: Path, count: int, kills: int) -> None:
    """Make both runs."""
    chance = random.Random(1)
    # In bfloat16, the engine's default, a near-tie of two spans can fall either way with what else is in the
    # batch, and a resumed run has other batches.
    lm = embedded_lm(ExtractiveEngine(reader=Slow()))
    program, scorer = load("rac", passages=2), make_scorer(Models(judge=None))
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # their threads would not survive a fork
    warm_up(program, lm)
    scorer.reader.read([("warm up?", "warm up")])
    questions = load_questions("homonyms/dev", limit=count)
    identity = RunIdentity(program="rac", lm=lm.model, reader=scorer.reader.name, questions="homonyms", n=count)

    def run(name: str) -> None:
        with showing(Counting(folder / "counted")):
            answer = partial(answer_one, program, lm=lm, scorer=scorer)
            run_answers(answer, questions, folder=folder / name, identity=identity, threads=2)

    undisturbed(partial(run, "whole"), folder)
    seen: list[int] = []
    for _ in range(kills):
        before = seen[-1] if seen else 0
        left = count - before > 8
        wanted = before + (chance.choice([0, 1, 2]) if left else 0)
        (folder / "counted").unlink(missing_ok=True)  # a run may be killed before it makes the file
        child = fork(partial(run, "killed"))
        while lines(folder / "counted") < wanted and os.waitpid(child, os.WNOHANG) == (0, 0):
            time.sleep(0.002)
        time.sleep(chance.uniform(0.0, 0.15 if left else 0.03))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), "the run had ended before it was killed"
        kept = in_ledger(folder / "killed")
        assert kept >= max(before, lines(folder / "counted")), "nothing that was kept is lost"
        seen.append(kept)
    _, status = os.waitpid(fork(partial(run, "killed")), 0)
    assert status == 0, "the last run failed"
    print(json.dumps(seen))


def in_ledger(folder: Path) -> int:
    """Return how many results the ledger of a killed run holds."""
    if not (folder / LEDGER).exists():
        return 0
    with open_ledger(folder / LEDGER, read_identity(folder).model_dump()) as ledger:
        return len(dict(ledger))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
