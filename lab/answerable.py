"""The questions of a data set that a corpus can answer, as a file of their own.

python -m lab.answerable --questions SOURCE --index NAME --out FILE.json [--limit N] [--depth 100]

A question counts as answerable if each of its readings has an answer in title or text of the first hundred
passages (STR-EM's match), or of so many as ``--depth`` says. Without this a small corpus would be measured mostly by
what it does not hold.
"""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from polyqa.base.errors import PolyqaError
from polyqa.base.files import write_atomically
from polyqa.colbert_index import ColBERTIndex, FusedRetriever, Retriever
from polyqa.evaluation.loading import load_questions
from polyqa.metrics import answer_coverage, exact_presence
from polyqa.metrics.gold import Question

DEPTH = 100
_BATCH = 64
Readings = Literal["any", "one", "many"]


def answerable(
    questions: Sequence[Question], retriever: Retriever, *, limit: int | None = None, depth: int = DEPTH
) -> list[Question]:
    """Return, in order, the first ``limit`` questions whose readings all have an answer in the retrieved passages."""
    found: list[Question] = []
    for start in range(0, len(questions), _BATCH):
        batch = questions[start : start + _BATCH]
        ranking = retriever.search_many([question.question for question in batch], depth)
        for question, passages in zip(batch, ranking, strict=True):
            texts = [passage.render() for passage in passages]
            if answer_coverage(question.answers, texts, depth, match=exact_presence) == 1.0:
                found.append(question)
                if len(found) == limit:
                    return found
    return found


def as_ambignq(question: Question) -> dict[str, Any]:
    """Return a question as a record of AmbigNQ's light format, which `load_questions` reads."""
    readings = question.readings
    if len(readings) == 1:
        annotation: dict[str, Any] = {"type": "singleAnswer", "answer": list(readings[0].short_answers)}
    else:
        pairs = [
            {"question": "|".join(reading.questions), "answer": list(reading.short_answers)} for reading in readings
        ]
        annotation = {"type": "multipleQAs", "qaPairs": pairs}
    return {"id": question.id, "question": question.question, "annotations": [annotation]}


def main(
    questions: Annotated[str, typer.Option(help="As for polyqa evaluate.")],
    index: Annotated[str, typer.Option(help="Name or path of the index.")],
    out: Annotated[Path, typer.Option(help="The .json file to write.")],
    readings: Annotated[Readings, typer.Option(help="Questions with one reading, with many, or any.")] = "any",
    limit: Annotated[int | None, typer.Option(min=1, help="So many, drawn at random.")] = None,
    depth: Annotated[int, typer.Option(min=1, help="In so many passages all answers must stand.")] = DEPTH,
    seed: Annotated[int, typer.Option(help="Of the draw.")] = 0,
    format: Annotated[str | None, typer.Option(help="Of the questions; found out if not given.")] = None,
) -> None:
    """Write the answerable questions of a data set."""
    wanted = [
        question
        for question in load_questions(questions, format=format)
        if readings == "any" or (len(question.readings) == 1) == (readings == "one")
    ]
    random.Random(seed).shuffle(wanted)
    opened = ColBERTIndex(index)
    found = answerable(wanted, FusedRetriever([opened, opened.bm25]), limit=limit, depth=depth)
    if not found:
        raise PolyqaError(f"{index} answers none of the {len(wanted)} questions of {questions}.")
    write_atomically(out, json.dumps([as_ambignq(question) for question in found], ensure_ascii=False, indent=1))
    typer.echo(f"{out}: {len(found)} questions that {index} answers, drawn from {len(wanted)}")


if __name__ == "__main__":
    typer.run(main)
