"""Ambiguous questions of people whose readings are of different times, and the corpus that answers them, from TimeQA.

python -m lab.timeqa --data FOLDER --out FOLDER

FOLDER holds ``disambig_timeqa_groups.jsonl.gz`` (questions with the readings that people gave them, each with its time,
answers and passages) and ``read_timeqa_human.jsonl.gz`` (further passages). Written are ``timeqa-corpus.jsonl`` for
`polyqa index build`, ``timeqa-train.json`` and ``timeqa-test.json``, which share no article.

TimeQA: Chen, Wang and Wang, 2021, https://arxiv.org/abs/2108.06314.
"""

import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from polyqa.base.files import write_atomically
from polyqa.metrics.gold import Question, Reading

from .answerable import as_ambignq

_TRAIN = 0.6


def _lines(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def _texts(groups: list[dict[str, Any]], read: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for one in read:
        yield one["title"], one["context"]
    for group in groups:
        yield group["title"], group["lead"]
        for reading in group["readings"]:
            for passage in reading["passages"]:
                yield group["title"], passage


def _question(number: int, group: dict[str, Any]) -> Question:
    readings = tuple(Reading(one["question"], tuple(one["answers"])) for one in group["readings"])
    return Question(f"timeqa-{number}", group["ambiguous_question"], readings)


def make(
    data: Annotated[Path, typer.Option(help="The folder with the two files.")],
    out: Annotated[Path, typer.Option(help="Where the three files are written.")],
    seed: Annotated[int, typer.Option(help="Of the articles for training.")] = 0,
) -> None:
    """Write the corpus and the questions."""
    groups = _lines(data / "disambig_timeqa_groups.jsonl.gz")
    texts = dict.fromkeys(
        (title, text.strip()) for title, text in _texts(groups, _lines(data / "read_timeqa_human.jsonl.gz"))
    )
    titles = sorted({group["title"] for group in groups})
    random.Random(seed).shuffle(titles)
    train = set(titles[: round(_TRAIN * len(titles))])
    parts: dict[str, list[dict[str, Any]]] = {"train": [], "test": []}
    for number, group in enumerate(groups):
        parts["train" if group["title"] in train else "test"].append(as_ambignq(_question(number, group)))
    passages = [{"id": f"t{at}", "title": title, "text": text} for at, (title, text) in enumerate(texts) if text]
    out.mkdir(parents=True, exist_ok=True)
    write_atomically(out / "timeqa-corpus.jsonl", "".join(f"{json.dumps(one)}\n" for one in passages))
    for part, questions in parts.items():
        write_atomically(out / f"timeqa-{part}.json", json.dumps(questions))
        typer.echo(f"{part}: {len(questions)} questions")
    typer.echo(f"{len(passages):,} passages")


if __name__ == "__main__":
    typer.run(make)
