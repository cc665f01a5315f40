"""SIXPAQ's table 2: recall of diverse answers, passages retrieved through generated questions or directly.

python -m lab.question_retrieval --index NAME --questions SOURCE [--questions-db FOLDER] [--json FILE]
"""

import json
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from polyqa.base.errors import PolyqaError
from polyqa.base.files import write_atomically
from polyqa.base.values import Passage
from polyqa.colbert_index import ColBERTIndex
from polyqa.evaluation.columns import MEAN
from polyqa.evaluation.loading import load_questions
from polyqa.evaluation.statistics import Difference, Estimate, compare, estimate
from polyqa.evaluation.tables import markdown_table
from polyqa.metrics import has_answer
from polyqa.metrics.gold import Question
from polyqa.metrics.recall import distinct_answers, recall
from polyqa.models import Encoder
from polyqa.questions import QuestionDatabase, QuestionRetriever, questions_path

from .results import rounded

Ranking = list[list[Passage]]
_DEPTH = 50  # of the rankings whose union says which answers can be found
_CUTS = (5, 10)
BASELINE = "passages, dense"


def passage_cosine(index: ColBERTIndex, encoder: Encoder, queries: Sequence[str]) -> Ranking:
    """Return all passages for each query by the cosine of the encoder's vectors."""
    stored = index.vectors(encoder.name)
    if stored is None:
        raise PolyqaError(f"The index {index.name} has no vectors of {encoder.name}; build it with that encoder.")
    scores = encoder.encode(queries) @ np.asarray(stored, dtype=np.float32).T
    rows = np.argsort(-scores, axis=1, kind="stable")
    return [[own for at in row if (own := index.positions[at]) is not None] for row in rows]


def rank_all(
    index: ColBERTIndex, database: QuestionDatabase, queries: Sequence[str]
) -> tuple[dict[str, Ranking], dict[str, float]]:
    """Return the passages of every method, and milliseconds per query."""
    assert database.encoder is not None
    encoder, everything = database.encoder, len(index)
    methods = {
        "passages, BM25": lambda: index.bm25.search_many(queries, everything),
        BASELINE: lambda: passage_cosine(index, encoder, queries),
        "passages, ColBERT": lambda: index.search_many(queries, everything),
    }
    for ranking, label in (("bm25", "BM25"), ("dense", "dense")):
        for by in ("max", "count"):
            retriever = QuestionRetriever(database, index, by=by, ranking=ranking)  # type: ignore[arg-type]
            methods[f"questions, {label} ({by})"] = lambda own=retriever: own.search_many(queries, _DEPTH)  # type: ignore[misc]
    rankings, milliseconds = {}, {}
    for name, method in methods.items():
        started = time.perf_counter()
        rankings[name] = method()
        milliseconds[name] = 1000 * (time.perf_counter() - started) / len(queries)
    return rankings, milliseconds


def findable(questions: Sequence[Question], rankings: Sequence[Ranking]) -> list[list[list[str]]]:
    """Return, per question, its distinct answers that some ranking holds."""
    kept = []
    for at, question in enumerate(questions):
        pool = {one.pid: one.render() for ranking in rankings for one in ranking[at]}
        kept.append(
            [own for own in distinct_answers(question.answers) if any(has_answer(own, text) for text in pool.values())]
        )
    return kept


def recalls(answers: Sequence[list[list[str]]], ranking: Ranking, k: int) -> "np.typing.NDArray[np.float64]":
    """Return recall@k of every question."""
    texts = [[passage.render() for passage in own] for own in ranking]
    return np.array([recall(own, text, k) for own, text in zip(answers, texts, strict=True)])


def evaluate(
    rankings: Mapping[str, Ranking], questions: Sequence[Question], pids: Collection[str]
) -> dict[str, dict[str, Estimate | Difference | None]]:
    """Return recall@5 and @10 of every method, and the difference to `BASELINE`.

    Only the passages of some ids count, and only the answers that one of the first 50 of them holds, by
    whatever method.
    """
    rankings = {
        name: [[one for one in own if one.pid in pids][:_DEPTH] for own in ranking]
        for name, ranking in rankings.items()
    }
    answers = findable(questions, list(rankings.values()))
    asked = [at for at, own in enumerate(answers) if own]
    if not asked:
        raise PolyqaError("No answer of any question stands in the passages.")
    scores = {
        name: {k: recalls([answers[at] for at in asked], [ranking[at] for at in asked], k) for k in _CUTS}
        for name, ranking in rankings.items()
    }
    rows: dict[str, dict[str, Estimate | Difference | None]] = {}
    for name, own in scores.items():
        row: dict[str, Estimate | Difference | None] = {}
        for k, values in own.items():
            row[f"recall@{k}"] = estimate(MEAN, [values])
            if name != BASELINE:
                row[f"recall@{k} difference"] = compare(MEAN, [scores[BASELINE][k]], [values])
        rows[name] = row
    return rows


def table(rows: Mapping[str, Mapping[str, Estimate | Difference | None]], milliseconds: Mapping[str, float]) -> str:
    """Return the rows as Markdown."""
    cuts = ("recall@5", "recall@10", "recall@10 difference")
    return markdown_table(
        ["retrieval", "recall@5", "recall@10", f"recall@10 − {BASELINE}", "ms per question"],
        ([name, *(str(row.get(cut, "")) for cut in cuts), f"{milliseconds[name]:.1f}"] for name, row in rows.items()),
    )


def main(
    index: Annotated[str, typer.Option(help="Name or path of the index.")],
    questions: Annotated[str, typer.Option(help="A file of questions with several answers, such as AmbigNQ's.")],
    questions_db: Annotated[
        Path | None, typer.Option("--questions-db", help="The database; by default questions/ in the index.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="A random sample of so many questions.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the tables as JSON.")] = None,
) -> None:
    """Score retrieval on the questions that have several answers, over the answers that can be found.

    Twice: among all passages of the index, and among those from which questions were made.
    """
    opened = ColBERTIndex(index)
    database = QuestionDatabase(questions_db or questions_path(opened), encoder=Encoder(), index=opened)
    asked = [
        question
        for question in load_questions(questions, limit=limit, seed=seed)
        if len(distinct_answers(question.answers)) > 1
    ]
    if not asked:
        raise PolyqaError(f"{questions} has no question with several answers.")
    covered = {pid for one in database.questions() for pid in one.pids}
    typer.echo(f"{database.manifest.counts}; {len(covered):,} of {len(opened):,} passages have questions\n")
    opened.search("warm up", 1)
    every: dict[str, dict[str, dict[str, Estimate | Difference | None]]] = {}
    rankings, milliseconds = rank_all(opened, database, [question.question for question in asked])
    universes = {"all passages": {one.pid for one in opened.passages}, "passages with questions": covered}
    for name, pids in universes.items():
        every[name] = evaluate(rankings, asked, pids)
        shown = next(iter(every[name].values()))["recall@5"]
        assert isinstance(shown, Estimate)
        typer.echo(f"{name}: {len(pids):,}; {shown.n} questions with a findable answer, 95% bootstrap intervals\n")
        typer.echo(f"{table(every[name], milliseconds)}\n")
    if json_file is not None:
        write_atomically(json_file, json.dumps(every, indent=2, default=rounded) + "\n")


if __name__ == "__main__":
    typer.run(main)
