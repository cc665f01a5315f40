"""Adapts RAC to a corpus with the embedded engine, undisturbed and killed again and again.

python killed_adapts.py FOLDER CORPUS SEED

Every run is a fork of one process that has loaded the models, and has a home of its own, so that the index is
built in it. Every stage is killed once, at a random moment after its first trace. Prints the stages that were
killed.
"""

import json
import os
import random
import signal
import sys
import time
from functools import partial
from pathlib import Path

import colbert.infra  # noqa: F401  sets TOKENIZERS_PARALLELISM when it is imported, which must not come later
from killed_runs import Counting, fork, lines, undisturbed

from polyqa.adapting import adapt
from polyqa.artifacts.store import CARD
from polyqa.colbert_index.store import checkpoint_home
from polyqa.compiling import Budget
from polyqa.evaluation.progress import showing
from polyqa.extractive import ExtractiveEngine, embedded_lm
from polyqa.language_models import Models, shared_encoder, shared_reader
from polyqa.models import EMBEDDED_READER, Reader

COUNTED = "counted"
# Where each stage leaves its first trace, and how many lines there must be more than before; `COUNTED` has a line for
# each passage that questions were made from, and begins anew with each run.
STAGES = {
    "the index is built": ("indexes/.bridges.building-*", 0),
    "questions are made": (COUNTED, 3),
    "and more of them": (COUNTED, 6),
    "the uncompiled program runs on dev": ("bridges/.work/before/predictions.jsonl", 1),
    "the compiled program runs on dev": ("bridges/.work/after/predictions.jsonl", 1),
    "the uncompiled program runs on test": ("bridges/.work/test-before/predictions.jsonl", 1),
    "the compiled program runs on test": ("bridges/.work/test-after/predictions.jsonl", 1),
    "the artifact is written": ("bridges/program.json", 0),
}


def lines_of(home: Path, pattern: str) -> int:
    """Return how many lines the files of a stage have; -1 if there is none yet."""
    found = list(home.glob(pattern))
    return sum(lines(path) for path in found if path.is_file()) if found else -1


def main(folder: Path, corpus: Path, seed: int) -> None:
    """Make both runs."""
    chance = random.Random(seed)
    # In bfloat16, the engine's default, a near-tie of two spans can fall either way with what else is in the
    # batch, and a resumed run has other batches.
    reader = Reader()
    lm = embedded_lm(ExtractiveEngine(reader=reader, encoder=shared_encoder()))
    shared_encoder().encode(["warm up"])
    for one in (reader, shared_reader(EMBEDDED_READER)):
        one.read([("warm up?", "warm up")])
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # their threads would not survive a fork
    checkpoints = checkpoint_home()

    for name in ("whole", "killed"):
        (folder / name).mkdir()
        (folder / name / "checkpoints").symlink_to(checkpoints)

    def run(name: str) -> None:
        home = folder / name
        os.environ["POLYQA_HOME"] = str(home)
        with showing(Counting(home / COUNTED, "passages")):
            adapt(corpus, "rac", out=home / "bridges", models=Models(lm=lm), budget=Budget(threads=2))

    undisturbed(partial(run, "whole"), folder)
    killed = []
    for stage, (pattern, more) in STAGES.items():
        (folder / "killed" / COUNTED).unlink(missing_ok=True)
        least = max(0, lines_of(folder / "killed", pattern)) + more
        child, ended = fork(partial(run, "killed")), (0, 0)
        while lines_of(folder / "killed", pattern) < least and ended == (0, 0):
            time.sleep(0.002)
            ended = os.waitpid(child, os.WNOHANG)
        assert ended == (0, 0), f"the run ended, with {ended[1]}, before it was killed: {stage}"
        time.sleep(chance.uniform(0.0, 0.03))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        killed += [stage] if os.WIFSIGNALED(status) else []
    if not (folder / "killed" / "bridges" / CARD).exists():  # else all was written before the last kill arrived
        _, status = os.waitpid(fork(partial(run, "killed")), 0)
        assert status == 0, "the last run failed"
    print(json.dumps(killed))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
