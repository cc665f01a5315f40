"""What building an index takes: in one part, in shards, on a cluster of this machine, and with PyLate beside it.

python -m lab.building corpus.jsonl [--limit 3000] [--shards 4] [--pylate PYTHON] [--json FILE]
    [--questions SOURCE] [--only WORDS]

A limit beyond the corpus has more passages made: the first half of one and the second half of another, so that words,
lengths and what stands beside what are a corpus's.

With questions, such as ASQA's, it is measured too how well each finds their passages; ``--only`` takes the ways whose
names have one of these words. An index that was built on Ray is searched by its workers.

Every build is a process of its own, one after the other, and the most memory is that of the process and those that it
started, one by one. PyLate needs an environment of its own, as it wants other versions of packages:

python -m venv pylate && pylate/bin/pip install torch pylate, then --pylate pylate/bin/python
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from polyqa.artifacts.card import Figure
from polyqa.artifacts.showing import figure_text
from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.colbert_index import read_corpus
from polyqa.colbert_index.checkpoint import embedded_checkpoint
from polyqa.colbert_index.files import write_passages
from polyqa.evaluation.columns import MEAN
from polyqa.evaluation.loading import load_questions
from polyqa.evaluation.statistics import estimate
from polyqa.evaluation.tables import markdown_table
from polyqa.metrics import mrecall
from polyqa.metrics.gold import Question
from polyqa.models.loading import PRECISION

from .results import Part, keep, rounded, today, without_folders

app = typer.Typer(no_args_is_help=True)
_WORKERS = 2
_QUERIES = 50
_POLYQA = """
import json, resource, sys, time
from contextlib import nullcontext
given = json.load(open(sys.argv[1], encoding='utf-8'))
if __name__ == "__main__":
    import faiss
    from polyqa.cluster import Ray, tasks
    from polyqa.colbert_index import build_index
    from polyqa.colbert_index.engine import prepare_colbert
    from polyqa.spreading import spread_index
    from polyqa.models import Encoder
    encoder = Encoder() if given["encoder"] else None
    prepare_colbert()  # loads torch, transformers and colbert-ai
    began = time.perf_counter()
    with tasks(Ray(given["workers"])) if given["workers"] else nullcontext() as run:
        built = build_index(given["corpus"], given["place"], encoder=encoder, shards=given["shards"], run=run)
    seconds = time.perf_counter() - began
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if given["workers"]:
        most = max(most, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
    spread = spread_index(built.path, Ray(given["workers"])) if given["workers"] else nullcontext(built)
    with spread as opened:
        opened.search("warm up")
        began = time.perf_counter()
        found = [opened.search(query, 10)[0].pid for query in given["queries"]]
        asked = 1_000 * (time.perf_counter() - began) / len(found)
        ranked = [[one.pid for one in own] for own in opened.search_many(given["questions"], 5)]
    print(json.dumps([seconds, most // 1_000, asked, found, ranked]))
"""
_PYLATE = """
import json, resource, sys, time
from pylate import indexes, models, retrieve
given = json.load(open(sys.argv[1], encoding='utf-8'))
passages = [json.loads(line) for line in open(given["corpus"], encoding="utf-8")]
model = models.ColBERT(model_name_or_path=given["checkpoint"], device="cpu", document_length=180, query_length=32)
def build(passages, folder):
    texts = [" ".join(f"{one['title']} {one['text']}".split()) for one in passages]
    vectors = model.encode(texts, batch_size=32, is_query=False, show_progress_bar=False)
    index = indexes.PLAID(index_folder=folder, index_name="index", override=True, nbits=2)
    index.add_documents(documents_ids=[one["pid"] for one in passages], documents_embeddings=vectors)
    return index
build(passages[:50], given["place"] + "-small")  # compiles what it needs
began = time.perf_counter()
index = build(passages, given["place"])
seconds, most = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
retriever = retrieve.ColBERT(index=index)
def ask(query):
    vector = model.encode([query], is_query=True, show_progress_bar=False)
    return [one["id"] for one in retriever.retrieve(queries_embeddings=vector, k=10)[0]]
ask("warm up")
began = time.perf_counter()
found = [ask(query)[0] for query in given["queries"]]
asked = 1_000 * (time.perf_counter() - began) / len(found)
print(json.dumps([seconds, most // 1_000, asked, found, [ask(query)[:5] for query in given["questions"]]]))
"""


class Built(Part):
    """One way of building.

    Attributes
    ----------
    how
        What builds.
    seconds
        From the file to the finished index, without loading Python's packages.
    megabytes, disk
        The most memory that a process took, and the sizes of the index's files; those that shards share are counted
        with each of them.
    milliseconds
        Of a search afterwards, with encoding the question, on average.
    itself
        Share of passages that are found first by their own beginning.
    mrecall
        MRecall@5 of the questions, if there are any.
    """

    how: str
    seconds: float
    megabytes: int
    disk: float
    milliseconds: float
    itself: float
    mrecall: Figure | None = None


class Building(Part):
    """A measurement of building, with the command that repeats it."""

    command: str
    date: str
    corpus: str
    passages: int
    cores: int
    processor: str
    built: list[Built]
    questions: str | None = None

    def table(self) -> str:
        """Return the rows as a table in Markdown."""
        heads = ["build", "seconds", "passages/s", "memory MB", "disk MB", "search ms", "finds itself"]
        heads += ["MRecall@5"] if self.questions else []
        rows = [
            [
                one.how,
                f"{one.seconds:.0f}",
                f"{self.passages / one.seconds:.1f}",
                f"{one.megabytes:,}",
                f"{one.disk:.1f}",
                f"{one.milliseconds:.1f}",
                f"{100 * one.itself:.0f}%",
                *([figure_text(one.mrecall)] if one.mrecall else []),
            ]
            for one in self.built
        ]
        return markdown_table(heads, rows)


@dataclass(frozen=True)
class Probes:
    """What an index is asked after it was built: beginnings of passages, and questions."""

    passages: Mapping[str, str]
    beginnings: Mapping[str, str]
    questions: Sequence[Question]

    @classmethod
    def of(cls, passages: Sequence[Passage], questions: Sequence[Question]) -> "Probes":
        """Return those of a corpus."""
        drawn = passages[:: max(1, len(passages) // _QUERIES)][:_QUERIES]
        beginnings = {one.pid: " ".join(one.indexed_text.split()[:15]) for one in drawn}
        return cls({one.pid: one.render() for one in passages}, beginnings, questions)

    def asked(self) -> dict[str, list[str]]:
        """Return the texts."""
        return {"queries": list(self.beginnings.values()), "questions": [one.question for one in self.questions]}

    def itself(self, found: Sequence[str]) -> float:
        """Return the share of passages that were found first by their beginnings."""
        return round(sum(map(str.__eq__, found, self.beginnings)) / len(self.beginnings), 3)

    def mrecall(self, ranked: Sequence[Sequence[str]]) -> Figure | None:
        """Return MRecall@5; ``None`` without questions."""
        if not self.questions:
            return None
        pairs = zip(self.questions, ranked, strict=True)
        values = [mrecall(one.answers, [self.passages[pid] for pid in own], 5) for one, own in pairs]
        estimated = estimate(MEAN, [np.asarray(values, dtype=np.float64)])
        assert estimated is not None
        return Figure.model_validate(rounded(estimated))


def grown(passages: Sequence[Passage], count: int) -> list[Passage]:
    """Return the first so many passages, and after the last one generated ones, no two of which are alike."""
    halves = [_halved(one.text) for one in passages]
    found = list(passages[:count])
    for number in range(len(passages), count):
        copy, place = divmod(number, len(passages))
        other = (place + copy) % len(passages)
        text = f"{halves[place][0]} {halves[other][1]}"
        found.append(passages[place].model_copy(update={"pid": f"{passages[place].pid}-{copy}", "text": text}))
    return found


def _halved(text: str) -> tuple[str, str]:
    words = text.split()
    return " ".join(words[: len(words) // 2]), " ".join(words[len(words) // 2 :])


def _run(how: str, python: str, script: str, given: Mapping[str, Any], probes: Probes) -> Built:
    environment = {**os.environ, "OMP_NUM_THREADS": str(_cores()), PRECISION: str(given.get("precision", "auto"))}
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump(given, file)
        file.flush()
        done = subprocess.run(
            [python, "-c", script, file.name], capture_output=True, text=True, env=environment, check=False
        )
    if done.returncode:
        raise PolyqaError(f"{how} failed: {done.stderr.strip().splitlines()[-1][:300]}")
    seconds, megabytes, milliseconds, found, ranked = json.loads(done.stdout.strip().splitlines()[-1])
    files = [path for path in Path(given["place"]).rglob("*") if path.is_file()]
    return Built(
        how=how,
        seconds=round(seconds, 1),
        megabytes=megabytes,
        disk=round(sum(path.stat().st_size for path in files) / 1e6, 1),
        milliseconds=round(milliseconds, 1),
        itself=probes.itself(found),
        mrecall=probes.mrecall(ranked),
    )


@app.command()
def build(
    corpus: Annotated[Path, typer.Argument(help="As for polyqa index build.")],
    limit: Annotated[int, typer.Option(min=100, help="Only the first passages, or more than there are.")] = 3_000,
    shards: Annotated[int, typer.Option(min=2, help="How many shards.")] = 4,
    pylate: Annotated[Path | None, typer.Option(help="Python of an environment with PyLate.")] = None,
    questions: Annotated[
        str | None, typer.Option(help="Whose passages are looked for, as for polyqa evaluate.")
    ] = None,
    only: Annotated[
        str | None, typer.Option(help="Words with commas between: ways that have one in their names.")
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the table as JSON.")] = None,
) -> None:
    """Time builds of one corpus."""
    passages = grown(read_corpus(corpus), limit)
    probes = Probes.of(passages, load_questions(questions) if questions else [])
    ways: list[tuple[str, dict[str, Any]]] = [
        ("polyqa, one part", {"encoder": True, "shards": 1, "workers": 0}),
        ("polyqa, one part, without vectors for reranking", {"encoder": False, "shards": 1, "workers": 0}),
        ("polyqa, one part, bfloat16", {"encoder": True, "shards": 1, "workers": 0, "precision": "bfloat16"}),
        (f"polyqa, {shards} shards", {"encoder": True, "shards": shards, "workers": 0}),
        (f"polyqa, {shards} shards, Ray, {_WORKERS} workers", {"encoder": True, "shards": shards, "workers": _WORKERS}),
    ]
    ways = [(how, more) for how, more in ways if only is None or any(word in how for word in only.split(","))]
    rows = []
    with tempfile.TemporaryDirectory() as folder, Console(stderr=True).status("building") as status:
        given = {"corpus": f"{folder}/corpus.jsonl", **probes.asked(), "checkpoint": str(embedded_checkpoint())}
        write_passages(Path(given["corpus"]), passages)  # type: ignore[arg-type]
        for number, (how, more) in enumerate(ways):
            status.update(how)
            place = {"place": f"{folder}/{number}/index"}
            rows.append(_run(how, sys.executable, _POLYQA, {**given, **more, **place}, probes))
        if pylate is not None:
            status.update("PyLate")
            rows.append(_run("PyLate", str(pylate), _PYLATE, {**given, "place": f"{folder}/pylate"}, probes))
    source = corpus.name
    measured = Building(
        command=" ".join(
            [
                f"python -m lab.building {source} --limit {limit} --shards {shards}",
                *(["--pylate pylate/bin/python"] if pylate else []),
                *([f"--questions {without_folders(questions)}"] if questions else []),
                *([f'--only "{only}"'] if only else []),
            ]
        ),
        date=today(),
        corpus=source,
        passages=len(passages),
        cores=_cores(),
        processor=platform.processor() or platform.machine(),
        built=rows,
        questions=f"{without_folders(questions)}, {len(probes.questions)} questions" if questions else None,
    )
    typer.echo(measured.table())
    keep(measured, json_file)


def _cores() -> int:
    return len(os.sched_getaffinity(0))


if __name__ == "__main__":
    app()
