"""What `polyqa adapt` makes of corpora that nobody wrote for it.

python -m lab.adapting --data FOLDER [--passages 160] [--program rac] [--seed 0] [--json FILE]

FOLDER holds public data sets: ``squad/reader_train.json`` (paragraphs of ten articles),
``squad/question_sentence_pairs.jsonl`` (single sentences without a title), ``training/read_selqa_dev_test.jsonl.gz``
(sections of articles), ``training/disambig_timeqa_groups.jsonl.gz`` (the beginnings of articles), ``asqa/corpus.jsonl``
(Wikipedia's passages). Of each a slice is drawn, and the program adapted to it with no questions given. Each takes some
minutes; what is made is kept in ``--work``, and the same command goes on.
"""

import gzip
import json
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from polyqa.adapting import Adapted, adapt
from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.compiling import Budget
from polyqa.evaluation.comparison import compare_runs
from polyqa.evaluation.runs import write_atomically

from .results import JsonFile, Measured, Table, command_line, report, today

_LONGEST = 1_500  # characters of a section
_ARTICLES = 10
Texts = list[tuple[str, str]]


_HEADS = ["corpus", "passages", "made", "plain", "ambiguous", "held out", "min", "DR", "F1 ans"]


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _paragraphs(data: Path, count: int, draw: random.Random) -> Texts:
    articles = json.loads((data / "squad/reader_train.json").read_text(encoding="utf-8"))["data"]
    each = -(-count // _ARTICLES)
    chosen = draw.sample([one for one in articles if len(one["paragraphs"]) >= each], _ARTICLES)
    return [
        (one["title"].replace("_", " "), paragraph["context"])
        for one in chosen
        for paragraph in one["paragraphs"][:each]
    ]


def _sections(data: Path, count: int, draw: random.Random) -> Texts:
    found = {
        (line["title"], line["section"]): " ".join(line["sentences"])[:_LONGEST]
        for line in _lines(data / "training/read_selqa_dev_test.jsonl.gz")
    }
    return [(title, found[title, section]) for title, section in draw.sample(sorted(found), count)]


def _leads(data: Path, count: int, draw: random.Random) -> Texts:
    found = {line["title"]: line["lead"] for line in _lines(data / "training/disambig_timeqa_groups.jsonl.gz")}
    return draw.sample(sorted(found.items()), min(count, len(found)))


def _encyclopaedia(data: Path, count: int, draw: random.Random) -> Texts:
    return draw.sample([(line["title"], line["text"]) for line in _lines(data / "asqa/corpus.jsonl")], count)


def _sentences(data: Path, count: int, draw: random.Random) -> Texts:
    found = {line["passage"]: None for line in _lines(data / "squad/question_sentence_pairs.jsonl")}
    return [("", text) for text in draw.sample(list(found), count)]


CORPORA: Mapping[str, Callable[[Path, int, random.Random], Texts]] = {
    "SQuAD, paragraphs of ten articles": _paragraphs,
    "SelQA, sections": _sections,
    "TimeQA, beginnings of articles": _leads,
    "ASQA, drawn passages": _encyclopaedia,
    "SQuAD, single sentences": _sentences,
}


def written(texts: Iterable[tuple[str, str]], path: Path) -> int:
    """Write texts as a corpus file; return how many."""
    passages = [Passage(pid=str(at), title=title, text=text) for at, (title, text) in enumerate(texts)]
    lines = (json.dumps({"id": one.pid, "title": one.title, "text": one.text}, ensure_ascii=False) for one in passages)
    write_atomically(path, "".join(f"{line}\n" for line in lines))
    return len(passages)


def cells(label: str, done: Adapted, minutes: float) -> list[str]:
    """Return the row of a corpus: passages, questions, minutes, DR and F1 before and after with the difference."""
    every = [*done.train, *done.dev, *done.held_out]
    ambiguous = sum(len(question.readings) > 1 for question in every)
    made = done.counts.questions if done.counts else 0
    metrics = compare_runs(*done.test_runs, headline=done.measure).metrics
    found = (metrics.get("dr"), metrics["f1_answer"])  # DR needs long answers
    numbers = (len(done.index), made, len(every) - ambiguous, ambiguous, len(done.held_out))
    changes = ("–" if one is None else f"{one.a:.1f} → {one.b:.1f}, {one}" for one in found)
    return [label, *(f"{number:,}" for number in numbers), f"{minutes:.1f}", *changes]


@dataclass(frozen=True)
class Job:
    """An adaptation: what the row is called, the corpus, the artifact's folder, and the questions of people."""

    label: str
    corpus: Path
    out: Path
    questions: Path | None = None


def _slices(data: Path, passages: int, seed: int, work: Path) -> Iterator[Job]:
    work.mkdir(parents=True, exist_ok=True)
    for at, (label, make) in enumerate(CORPORA.items(), 1):
        corpus = work / f"corpus-{at}.jsonl"
        written(make(data, passages, random.Random(seed)), corpus)
        yield Job(label, corpus, work / f"adapting-{at}")


def _peoples(corpus: Path, name: str, questions: Sequence[Path], work: Path) -> Iterator[Job]:
    for one in questions:
        yield Job(one.stem, corpus, work / one.stem / name, one)


def main(
    data: Annotated[Path | None, typer.Option(help="The folder of the data sets.")] = None,
    passages: Annotated[int, typer.Option(min=10, help="Of each corpus.")] = 160,
    corpus: Annotated[Path | None, typer.Option(help="One corpus instead, as for polyqa adapt.")] = None,
    name: Annotated[str, typer.Option(help="Of its index.")] = "adapting",
    questions: Annotated[list[Path] | None, typer.Option(help="Questions of people; again for more.")] = None,
    program: Annotated[str, typer.Option(help="As for polyqa adapt.")] = "rac",
    seed: Annotated[int, typer.Option(help="Of the slices and of everything drawn.")] = 0,
    work: Annotated[Path, typer.Option(help="Where corpora and artifacts are kept.")] = Path("runs/adapting"),
    json_file: JsonFile = None,
) -> None:
    """Adapt a program to five corpora, or to one with questions of people."""
    if (data is None) == (corpus is None) or (corpus is not None and not questions):
        raise PolyqaError("Give --data, or --corpus with --questions.")
    options: dict[str, object] = {"--data": "FOLDER", "--passages": passages}
    if corpus is not None:
        options = {"--corpus": corpus.name, "--name": name, "--questions": [one.name for one in questions or ()]}
    rows, verdicts, lm = [], [], ""
    jobs = _slices(data, passages, seed, work) if data else _peoples(corpus or Path(), name, questions or (), work)
    for job in jobs:
        begun = time.monotonic()
        done = adapt(job.corpus, program, out=job.out, questions=job.questions, budget=Budget(seed=seed))
        assert done is not None
        rows.append(cells(job.label, done, (time.monotonic() - begun) / 60))
        verdicts.append(f"- {job.label}: {done.verdict}")
        lm = done.made.card.lm
        typer.echo(verdicts[-1], err=True)
    report(
        Measured(
            about=f"`{program}`, recipe knn, {lm}, embedded reader; {today()}.",
            command=command_line("lab.adapting", {**options, "--program": program, "--seed": seed}),
            tables={"": Table(heads=_HEADS, rows=rows)},
            notes="\n".join(verdicts),
        ),
        json_file,
    )


if __name__ == "__main__":
    typer.run(main)
