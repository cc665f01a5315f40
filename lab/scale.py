"""How search and batch answering grow: with passages, and with questions under way at once.

python -m lab.scale search --index NAME --questions SOURCE [--copies 1,10,50] [--json FILE]
python -m lab.scale answer [--count 1000] [--json FILE]

``search`` times the search of an index against colbert-ai's own searcher, and what it finds against an exact one.
Larger indexes are generated from its compressed vectors: every passage stands there so many times, each of its token
vectors moved to a centroid beside its own, so that there are as many centroids as in a corpus of that size, or half as
many. What they find is not judged.

``answer`` has a thousand questions answered with a language model that takes a second for each call, so many at once.
"""

import multiprocessing
import os
import resource
import tempfile
import time
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console

from polyqa.colbert_index import ColBERTIndex, SearchSettings
from polyqa.colbert_index.compressed import CompressedVectors
from polyqa.evaluation.loading import load_questions
from polyqa.evaluation.tables import markdown_table
from polyqa.metrics import exact_presence

from .latency_server import serving
from .results import Part, keep, today, without_folders
from .retrieval import evaluate_ranking
from .serving import prepared_replies

app = typer.Typer(no_args_is_help=True)
_KS = (5, 100)
_THOROUGH = SearchSettings(ncells=64, candidates=10**9, ndocs=10**9)
_LATENCY = 1.0
_AT_ONCE = (1, 8, 64, 256)


class Searched(Part):
    """One way of searching one index.

    Attributes
    ----------
    passages, centroids
        How large it is.
    engine
        What searches.
    k
        How many passages are asked for.
    milliseconds
        Of the search of a question that is encoded, the median and the 99th percentile.
    same
        Share of the passages that an exact search finds, too; ``None`` if that is not known.
    mrecall
        MRecall@5; ``None`` of generated indexes.
    megabytes
        What the vectors and the inverted file take in memory.
    """

    passages: int
    centroids: int
    engine: str
    k: int
    milliseconds: tuple[float, float]
    same: float | None
    mrecall: float | None
    megabytes: int


class Searching(Part):
    """A measurement of search, with the command that repeats it."""

    command: str
    date: str
    index: str
    questions: str
    cores: int
    encoding: float
    searched: list[Searched]

    def table(self) -> str:
        """Return the rows as a table in Markdown."""
        heads = ["passages", "centroids", "search", "k", "ms (median)", "ms (99%)", "as exact", "MRecall@5", "MB"]
        rows = [
            [
                f"{one.passages:,}",
                f"{one.centroids:,}",
                one.engine,
                str(one.k),
                f"{one.milliseconds[0]:.1f}",
                f"{one.milliseconds[1]:.1f}",
                "–" if one.same is None else f"{100 * one.same:.1f}%",
                "–" if one.mrecall is None else f"{one.mrecall:.1f}",
                f"{one.megabytes:,}",
            ]
            for one in self.searched
        ]
        return markdown_table(heads, rows)


class Batch(Part):
    """A thousand questions with so many at once.

    Attributes
    ----------
    at_once
        Questions under way, of all workers together.
    workers
        Of a Ray cluster; 0 for this process.
    seconds
        For all of them.
    allowed
        Share of what the language model allows.
    own
        Milliseconds of CPU for a question, of this process; ``None`` on a cluster.
    megabytes
        The most memory that the process took; ``None`` on a cluster.
    """

    at_once: int
    workers: int
    seconds: float
    allowed: float
    own: float | None
    megabytes: int | None


class Batches(Part):
    """A measurement of batch answering, with the command that repeats it."""

    command: str
    date: str
    index: str
    program: str
    count: int
    cores: int
    waits: float
    batches: list[Batch]

    def table(self) -> str:
        """Return the rows as a table in Markdown."""
        heads = [
            "where",
            "at once",
            "seconds",
            "answers/s",
            "of what the model allows",
            "CPU ms a question",
            "memory MB",
        ]
        rows = [
            [
                f"Ray, {one.workers} workers" if one.workers else "one process",
                str(one.at_once),
                f"{one.seconds:.1f}",
                f"{self.count / one.seconds:.1f}",
                f"{100 * one.allowed:.0f}%",
                "–" if one.own is None else f"{one.own:.0f}",
                "–" if one.megabytes is None else f"{one.megabytes:,}",
            ]
            for one in self.batches
        ]
        return markdown_table(heads, rows)


def generated(vectors: CompressedVectors, copies: int, seed: int = 0) -> CompressedVectors:
    """Return an index of so many times the passages, see the module.

    Centroids grow with the square root of the vectors, as colbert-ai has them: to the power of 2 below.
    """
    rng = np.random.default_rng(seed)
    near = 2 ** int(np.log2(np.sqrt(copies)))
    larger = object.__new__(CompressedVectors)
    larger.nbits, larger._weights = vectors.nbits, vectors._weights
    moved = np.repeat(vectors.centroids, near, axis=0)
    moved += rng.normal(scale=0.02, size=moved.shape).astype(np.float32)
    larger.centroids = moved / np.linalg.norm(moved, axis=1, keepdims=True)
    larger.residuals = np.tile(vectors.residuals, (copies, 1))
    larger.codes = np.tile(vectors.codes, copies) * np.int32(near)
    larger.codes += rng.integers(0, near, len(larger.codes), dtype=np.int32)
    lengths = np.tile(np.diff(vectors.offsets), copies)
    larger.offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    owner = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
    pairs = np.unique(larger.codes.astype(np.int64) * len(lengths) + owner)
    larger._members = (pairs % len(lengths)).astype(np.int32)
    sizes = np.bincount(pairs // len(lengths), minlength=len(moved))
    larger._first_members = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return larger


def _megabytes(vectors: CompressedVectors) -> int:
    held = (vectors.centroids, vectors.codes, vectors.residuals, vectors.offsets, vectors._members)
    return round(sum(one.nbytes for one in held) / 1e6)


def _timed(
    search: Any, queries: Sequence[NDArray[np.float32]]
) -> tuple[list[list[tuple[int, float]]], tuple[float, float]]:
    found, took = [], []
    for query in queries:
        began = time.perf_counter()
        found.append(search(query))
        took.append(1_000 * (time.perf_counter() - began))
    return found, (round(float(np.median(took)), 2), round(float(np.quantile(took, 0.99)), 2))


def _same(found: Sequence[Sequence[tuple[int, float]]], exact: Sequence[Sequence[tuple[int, float]]], k: int) -> float:
    shares = [
        len({at for at, _ in own[:k]} & {at for at, _ in best[:k]}) / k for own, best in zip(found, exact, strict=True)
    ]
    return round(float(np.mean(shares)), 4)


def _colbert_ai(index: ColBERTIndex) -> Any:
    """Return colbert-ai's own searcher of an index; it compiles its extensions."""
    from colbert import Searcher
    from colbert.infra import ColBERTConfig

    return Searcher(
        str(index.folder),
        checkpoint=index.manifest.checkpoint,
        collection=[passage.indexed_text for passage in index.passages],
        config=ColBERTConfig(ncells=8, centroid_score_threshold=0.3, ndocs=4096),
        verbose=0,
    )


def _with_colbert_ai(searcher: Any, query: NDArray[np.float32], k: int) -> list[tuple[int, float]]:
    import torch

    positions, _, scores = searcher.dense_search(torch.from_numpy(query[None]), k)
    return list(zip(positions, scores, strict=True))


@app.command()
def search(
    index: Annotated[str, typer.Option(help="Name or path of the index.")],
    questions: Annotated[str, typer.Option(help="Questions, as for polyqa evaluate.")],
    copies: Annotated[str, typer.Option(help="How many times the passages, with commas between.")] = "1,10,50",
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the table as JSON.")] = None,
) -> None:
    """Time the search of an index, and of larger ones that are generated from it."""
    console = Console(stderr=True)
    opened, asked = ColBERTIndex(index), load_questions(questions)
    opened.warm_up()
    began = time.perf_counter()
    queries = [opened.query_encoder([one.question])[0] for one in asked]
    encoding = 1_000 * (time.perf_counter() - began) / len(asked)
    rows = []

    def add(vectors: CompressedVectors, engine: str, k: int, search: Any, exact: Any) -> None:
        found, milliseconds = _timed(search, queries)
        ranking = [[opened.positions[at] for at, _ in one] for one in found] if exact is not None else None
        rows.append(
            Searched(
                passages=len(vectors),
                centroids=len(vectors.centroids),
                engine=engine,
                k=k,
                milliseconds=milliseconds,
                same=None if exact is None else _same(found, exact, k),
                mrecall=None
                if ranking is None
                else round(evaluate_ranking(asked, ranking, exact_presence)["MRecall@5"].value, 2),  # type: ignore[arg-type]
                megabytes=_megabytes(vectors),
            )
        )

    with console.status("searching"):
        own = opened.token_vectors
        exact = [own.search(query, max(_KS), _THOROUGH) for query in queries]
        searcher = _colbert_ai(opened)
        for k in _KS:
            add(own, "colbert-ai", k, lambda query, k=k: _with_colbert_ai(searcher, query, k), exact)
        for times in map(int, copies.split(",")):
            vectors = own if times == 1 else generated(own, times)
            for k in _KS:
                add(
                    vectors,
                    "polyqa",
                    k,
                    lambda query, vectors=vectors, k=k: vectors.search(query, k, opened.search_settings),
                    exact if times == 1 else None,
                )
    source = without_folders(questions)
    measured = Searching(
        command=f"python -m lab.scale search --index {opened.name} --questions {source} --copies {copies}",
        date=today(),
        index=f"{opened.name} ({opened.fingerprint})",
        questions=f"{source}, {len(asked)} questions",
        cores=len(os.sched_getaffinity(0)),
        encoding=round(encoding, 1),
        searched=rows,
    )
    typer.echo(measured.table())
    keep(measured, json_file)


def _answer(given: Mapping[str, Any], questions: Sequence[str], at_once: int, workers: int, told: Connection) -> None:
    """Be the process that answers."""
    import dspy

    import polyqa

    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)
    models = polyqa.Models(lm="openai/prepared", api_base=given["address"])
    program, index = given["program"], given["index"]
    cluster = polyqa.Ray(workers) if workers else None
    with tempfile.TemporaryDirectory() as folder:
        few = questions[:1]
        if cluster is None:
            polyqa.answer_many(few, Path(folder) / "warm.jsonl", program=program, index=index, models=models)
        before, began = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
        answered = polyqa.answer_many(
            questions,
            Path(folder) / "a.jsonl",
            program=program,
            index=index,
            models=models,
            batch=polyqa.Batch(at_once // max(1, workers), ray=cluster),
        )
        seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    told.send((seconds, 1_000 * busy / len(questions), after.ru_maxrss // 1_000, len(answered.failed)))


@app.command()
def answer(
    program: Annotated[str, typer.Option(help="The program that is asked.")] = "rac",
    index: Annotated[str, typer.Option(help="Name or path of the index.")] = "homonyms",
    count: Annotated[int, typer.Option(min=10, help="How many questions.")] = 1_000,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the table as JSON.")] = None,
) -> None:
    """Time a batch of questions with a language model that takes a second for each call."""
    console = Console(stderr=True)
    every = [one.question for split in ("train", "dev", "test") for one in load_questions(f"homonyms/{split}")]
    # No two are the same, so that nothing is answered from memory.
    questions = [f"{every[n % len(every)].rstrip('?')}, for the {n // len(every) + 1}. time?" for n in range(count)]
    with console.status("preparing replies"):
        replies, depth = prepared_replies(program, index, questions)
    rows = []
    with serving(replies, _LATENCY) as address:
        given = {"address": address, "program": program, "index": index}
        for at_once, workers in [*((one, 0) for one in _AT_ONCE), (64, 2), (256, 4)]:
            chosen = questions if at_once > 1 else questions[: max(10, count // 25)]
            with console.status(f"{at_once} at once"):
                here, there = multiprocessing.Pipe()
                process = multiprocessing.get_context("spawn").Process(
                    target=_answer, args=(given, chosen, at_once, workers, there)
                )
                process.start()
                seconds, own, megabytes, failed = here.recv()
                process.join()
            if failed:
                raise RuntimeError(f"{failed} questions failed")
            rows.append(
                Batch(
                    at_once=at_once,
                    workers=workers,
                    seconds=round(seconds * count / len(chosen), 2),
                    allowed=round(len(chosen) / seconds * depth * _LATENCY / at_once, 3),
                    own=None if workers else round(own, 1),
                    megabytes=None if workers else megabytes,
                )
            )
    measured = Batches(
        command=f"python -m lab.scale answer --program {program} --index {index} --count {count}",
        date=today(),
        index=index,
        program=program,
        count=count,
        cores=len(os.sched_getaffinity(0)),
        waits=round(depth * _LATENCY, 3),
        batches=rows,
    )
    typer.echo(measured.table())
    keep(measured, json_file)


if __name__ == "__main__":
    app()
