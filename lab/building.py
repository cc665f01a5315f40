"""What building an index takes: in one part, in shards, and on a cluster of this machine.

python -m lab.building corpus.jsonl [--limit 3000] [--shards 4] [--questions SOURCE] [--only WORDS] [--json FILE]

With questions, such as ASQA's, it is measured too how well each index finds their passages; ``--only`` takes the ways
whose names have one of these words. An index that was built on Ray is searched by its workers. Every build is a process
of its own, one after the other, and the most memory is that of the process and those that it started, one by one.
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

import typer
from rich.console import Console

from polyqa.artifacts.card import Figure
from polyqa.artifacts.showing import figure_text
from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.colbert_index import read_corpus
from polyqa.colbert_index.files import write_passages
from polyqa.evaluation.loading import load_questions
from polyqa.metrics import mrecall
from polyqa.metrics.gold import Question
from polyqa.models.loading import PRECISION

from .results import JsonFile, Measured, Table, command_line, cores, report, today, without_folders
from .retrieval import mean

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
        pairs = zip(self.questions, ranked, strict=True)
        values = [mrecall(one.answers, [self.passages[pid] for pid in own], 5) for one, own in pairs]
        return mean(values) if values else None


def _run(how: str, given: Mapping[str, Any], probes: Probes) -> list[str]:
    """Build in a process of its own; return the row of the table."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(cores()), PRECISION: str(given.get("precision", "auto"))}
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump(given, file)
        file.flush()
        done = subprocess.run(
            [sys.executable, "-c", _POLYQA, file.name], capture_output=True, text=True, env=environment, check=False
        )
    if done.returncode:
        raise PolyqaError(f"{how} failed: {done.stderr.strip().splitlines()[-1][:300]}")
    seconds, megabytes, milliseconds, found, ranked = json.loads(done.stdout.strip().splitlines()[-1])
    files = [path for path in Path(given["place"]).rglob("*") if path.is_file()]
    recalled = probes.mrecall(ranked)
    return [
        how,
        f"{seconds:.0f}",
        f"{len(probes.passages) / seconds:.1f}",
        f"{megabytes:,}",
        f"{sum(path.stat().st_size for path in files) / 1e6:.1f}",
        f"{milliseconds:.1f}",
        f"{100 * probes.itself(found):.0f}%",
        *([figure_text(recalled)] if recalled else []),
    ]


def main(
    corpus: Annotated[Path, typer.Argument(help="As for polyqa index build.")],
    limit: Annotated[int, typer.Option(min=100, help="Only the first passages.")] = 3_000,
    shards: Annotated[int, typer.Option(min=2, help="How many shards.")] = 4,
    questions: Annotated[str | None, typer.Option(help="Questions to search for, as for polyqa evaluate.")] = None,
    only: Annotated[str, typer.Option(help="Words with commas between: ways whose names have one.")] = "",
    json_file: JsonFile = None,
) -> None:
    """Time builds of one corpus."""
    passages = read_corpus(corpus)[:limit]
    probes = Probes.of(passages, load_questions(questions) if questions else [])
    ways: dict[str, dict[str, Any]] = {
        "polyqa, one part": {},
        "polyqa, one part, without vectors for reranking": {"encoder": False},
        "polyqa, one part, bfloat16": {"precision": "bfloat16"},
        f"polyqa, {shards} shards": {"shards": shards},
        f"polyqa, {shards} shards, Ray, {_WORKERS} workers": {"shards": shards, "workers": _WORKERS},
    }
    rows = []
    with tempfile.TemporaryDirectory() as folder, Console(stderr=True).status("building") as status:
        given = {"corpus": f"{folder}/corpus.jsonl", **probes.asked(), "encoder": True, "shards": 1, "workers": 0}
        write_passages(Path(folder) / "corpus.jsonl", passages)
        for number, (how, more) in enumerate(ways.items()):
            if any(word in how for word in only.split(",")):
                status.update(how)
                place = {"place": f"{folder}/{number}/index"}
                rows.append(_run(how, {**given, **more, **place}, probes))
    asked = f", {without_folders(questions)}, {len(probes.questions)} questions" if questions else ""
    about = (
        f"{len(passages):,} passages of {corpus.name}{asked}; embedded checkpoint and encoder; {cores()} cores "
        f"({platform.processor() or platform.machine()}), of which the workers of Ray take one each; {today()}."
    )
    options = {
        "--limit": limit,
        "--shards": shards,
        "--questions": without_folders(questions) if questions else None,
        "--only": f'"{only}"' if only else None,
    }
    heads = ["build", "seconds", "passages/s", "memory MB", "disk MB", "search ms", "finds itself"]
    table = Table(heads=[*heads, *(["MRecall@5"] if questions else [])], rows=rows)
    report(
        Measured(about=about, command=command_line(f"lab.building {corpus.name}", options), tables={"": table}),
        json_file,
    )


if __name__ == "__main__":
    typer.run(main)
