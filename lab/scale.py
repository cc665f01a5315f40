"""How batch answering grows with questions under way at once.

python -m lab.scale answer [--count 1000] [--json FILE]

A thousand questions are answered with a language model that takes a second for each call, so many at once.
"""

import multiprocessing
import resource
import tempfile
import time
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Annotated, Any

import typer

from polyqa.evaluation.loading import load_questions
from polyqa.loading import load

from .results import Index, JsonFile, Program, Table, cores, report, tracked
from .servers import prepared, serving

app = typer.Typer(no_args_is_help=True)
_LATENCY = 1.0
_AT_ONCE = [(1, 0), (8, 0), (64, 0), (256, 0), (64, 2), (256, 4)]
"""Questions under way at once, and workers of Ray among which they are shared; 0 without Ray."""


@app.callback()
def commands() -> None:
    """Measure how answering grows."""


def _answer(given: Mapping[str, Any], questions: Sequence[str], at_once: int, workers: int, told: Connection) -> None:
    """Be the process that answers."""
    import dspy

    import polyqa

    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)
    asked = {"program": given["program"], "index": given["index"]}
    asked["models"] = polyqa.Models(lm="openai/prepared", api_base=given["address"])
    cluster = polyqa.Ray(workers) if workers else None
    with tempfile.TemporaryDirectory() as folder:
        if cluster is None:
            polyqa.answer_many(questions[:1], Path(folder) / "warm.jsonl", **asked)
        before, began = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
        batch = polyqa.Batch(at_once // max(1, workers), ray=cluster)
        answered = polyqa.answer_many(questions, Path(folder) / "a.jsonl", batch=batch, **asked)
        seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    told.send((seconds, 1_000 * busy / len(questions), after.ru_maxrss // 1_000, len(answered.failed)))


@app.command()
def answer(
    program: Program = "rac",
    index: Index = "homonyms",
    count: Annotated[int, typer.Option(min=10, help="How many questions.")] = 1_000,
    json_file: JsonFile = None,
) -> None:
    """Time a batch of questions with a language model that takes a second for each call; the calls wait in turn."""
    every = [one.question for split in ("train", "dev", "test") for one in load_questions(f"homonyms/{split}")]
    # No two are the same, so that nothing is answered from memory.
    questions = [f"{every[n % len(every)].rstrip('?')}, for the {n // len(every) + 1}. time?" for n in range(count)]
    replies, depth = prepared(load(program, index=index), questions)
    rows = []
    with serving(replies, _LATENCY) as address:
        given = {"address": address, "program": program, "index": index}
        for at_once, workers in tracked(_AT_ONCE, "answering"):
            chosen = questions if at_once > 1 else questions[: max(10, count // 25)]
            here, there = multiprocessing.Pipe()
            spawned = multiprocessing.get_context("spawn")
            process = spawned.Process(target=_answer, args=(given, chosen, at_once, workers, there))
            process.start()
            seconds, busy, megabytes, failed = here.recv()
            process.join()
            if failed:
                raise RuntimeError(f"{failed} questions failed")
            share = len(chosen) / seconds * depth * _LATENCY / at_once
            cells = [f"{seconds * count / len(chosen):.1f}", f"{len(chosen) / seconds:.1f}", f"{share:.0%}"]
            cells += ["–", "–"] if workers else [f"{busy:.0f}", f"{megabytes:,}"]
            rows.append([f"Ray, {workers} workers" if workers else "one process", str(at_once), *cells])
    about = (
        f"{count:,} questions, `{program}` over {index}, a language model of {_LATENCY:g} s a call, for which a "
        f"question waits {depth * _LATENCY:.1f} s; {cores()} cores for everything"
    )
    heads = ["where", "at once", "seconds", "answers/s", "of what the model allows", "CPU ms a question", "memory MB"]
    report(about, Table(heads=heads, rows=rows), json_file)


if __name__ == "__main__":
    app()
