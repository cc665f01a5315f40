"""How well retrieval covers the readings: AC@k and MRecall@k of every stage, in one table.

python -m lab.retrieval --index NAME --questions SOURCE [--limit N] [--json FILE]
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from polyqa.artifacts.card import Figure
from polyqa.artifacts.showing import figure_text
from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.colbert_index import (
    BiEncoderReranker,
    ColBERTIndex,
    FusedRetriever,
    Reranker,
    Retriever,
    SpanReaderReranker,
    rerank,
)
from polyqa.evaluation.columns import MEAN
from polyqa.evaluation.loading import load_questions
from polyqa.evaluation.statistics import Estimate, estimate
from polyqa.evaluation.tables import markdown_table
from polyqa.metrics import answer_coverage, exact_presence, has_answer, mrecall
from polyqa.metrics.answer_match import Match
from polyqa.metrics.gold import Question
from polyqa.models import Encoder, Reader
from polyqa.questions import QuestionDatabase, QuestionRetriever, questions_path

from .results import Part, keep, rounded, today, without_folders

Ranking = Sequence[Sequence[Passage]]


class Retrieval(Part):
    """A measurement of retrieval.

    Attributes
    ----------
    command, date
        What repeats it, and the ISO date.
    questions, index, match
        How many questions of what, over which index, and by which rule a passage holds an answer.
    stages
        Per stage AC@5, AC@100 and MRecall@5.
    milliseconds
        Per stage the time that a question takes.
    """

    command: str
    date: str
    questions: str
    index: str
    match: str
    stages: dict[str, dict[str, Figure]]
    milliseconds: dict[str, float]

    def table(self, *, times: bool) -> str:
        """Return the stages as a table in Markdown, with or without what a question takes."""
        names = list(next(iter(self.stages.values())))
        rows = (
            [stage, *(figure_text(scores[name]) if name in scores else "–" for name in names)]
            + ([f"{self.milliseconds[stage]:,.0f}"] if times else [])
            for stage, scores in self.stages.items()
        )
        return markdown_table(["retrieval", *names, *(["ms a question"] if times else [])], rows)


def _mean(values: Sequence[float]) -> Estimate:
    estimated = estimate(MEAN, [np.asarray(values, dtype=np.float64)])
    if estimated is None:
        raise PolyqaError("There is no question to score.")
    return estimated


def evaluate_ranking(questions: Sequence[Question], ranking: Ranking, match: Match) -> dict[str, Estimate]:
    """Return AC@5, AC@100 and MRecall@5 of ranked passages; an answer may stand in title or text."""
    texts = [[passage.render() for passage in passages] for passages in ranking]
    pairs = list(zip(questions, texts, strict=True))
    return {
        "AC@5": _mean([answer_coverage(q.answers, t, 5, match=match) for q, t in pairs]),
        "AC@100": _mean([answer_coverage(q.answers, t, 100, match=match) for q, t in pairs]),
        "MRecall@5": _mean([mrecall(q.answers, t, 5, match=match) for q, t in pairs]),
    }


def reranked(reranker: Reranker, questions: Sequence[Question], candidates: Ranking) -> Ranking:
    """Return the candidates in the order of the reranker."""
    return [
        rerank(reranker, question.question, own, len(own)) for question, own in zip(questions, candidates, strict=True)
    ]


def diversified(retriever: Retriever, reranker: Reranker, encoder: Encoder, questions: Sequence[Question]) -> Ranking:
    """Return DIVA's passages for each question, with the embedded engine's pseudo-interpretations."""
    import dspy

    from polyqa.extractive import ExtractiveEngine, embedded_lm
    from polyqa.programs import DIVA

    program = DIVA(retriever, reranker, encoder=encoder)
    with dspy.context(lm=embedded_lm(ExtractiveEngine(encoder=encoder))):
        ranking = []
        for question in questions:
            typed = program.classify(question=question.question)
            inferred = program.infer(question=question.question, reason=typed.reason)
            ranking.append(program.diversify(question.question, inferred.pseudo_interpretations))
    return ranking


def diversified_by_questions(
    retriever: Retriever, reranker: Reranker, asked: QuestionRetriever, encoder: Encoder, questions: Sequence[Question]
) -> Ranking:
    """Return DIVA's passages for each question, with pseudo-interpretations from generated questions."""
    from polyqa.programs import DIVA

    program = DIVA(retriever, reranker, asked, encoder=encoder, pseudo="questions")
    return [
        program.diversify(one.question, program.similar_questions(one.question) or [one.question]) for one in questions
    ]


def run(
    index: ColBERTIndex, questions: Sequence[Question], match: Match, depth: int = 200
) -> dict[str, dict[str, Any]]:
    """Return the scores of every stage, and milliseconds per question.

    Where the index has a database of generated questions in its folder, DIVA's passages by these are a stage, too.
    """
    encoder = Encoder()
    reranker = BiEncoderReranker(encoder, index)
    fused = FusedRetriever([index, index.bm25])
    asked = [question.question for question in questions]
    index.search("warm up", 1)
    rows: dict[str, dict[str, Any]] = {}
    rankings: dict[str, Ranking] = {}

    def stage(name: str, make: Callable[[], Ranking]) -> None:
        started = time.perf_counter()
        rankings[name] = make()
        milliseconds = 1000 * (time.perf_counter() - started) / len(questions)
        scores = evaluate_ranking(questions, rankings[name], match)
        rows[name] = {**scores, "ms": milliseconds}

    stage("BM25", lambda: index.bm25.search_many(asked, depth))
    stage("ColBERT", lambda: index.search_many(asked, depth))
    stage("fused", lambda: fused.search_many(asked, depth))
    stage("ColBERT + rerank", lambda: reranked(reranker, questions, rankings["ColBERT"]))
    stage("fused + rerank", lambda: reranked(reranker, questions, rankings["fused"]))
    reading = SpanReaderReranker(reranker, Reader(precision="auto", batch_size=32))
    stage("fused + rerank + reader", lambda: reranked(reading, questions, rankings["fused"]))
    stage("fused + DIVA (5 passages)", lambda: diversified(fused, reranker, encoder, questions))
    if questions_path(index).is_dir():
        made = QuestionRetriever(QuestionDatabase(questions_path(index), encoder=encoder, index=index), index)
        stage(
            "fused + DIVA by generated questions (5 passages)",
            lambda: diversified_by_questions(fused, reranker, made, encoder, questions),
        )
    return rows


def main(
    index: Annotated[str, typer.Option(help="Name or path of the index.")],
    questions: Annotated[str, typer.Option(help="A file of questions, homonyms/SPLIT or hub:NAME@CONFIGURATION.")],
    split: Annotated[str | None, typer.Option(help="Which split of the questions, if there are several.")] = None,
    limit: Annotated[int | None, typer.Option(help="A random sample of so many questions.")] = None,
    match: Annotated[
        str, typer.Option(help="When a passage holds an answer: str-em (ASQA's substring) or dpr (tokens).")
    ] = "str-em",
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the table as JSON.")] = None,
) -> None:
    """Score every stage of retrieval on questions that say what answers each reading."""
    opened = ColBERTIndex(index)
    chosen = load_questions(questions, split=split, limit=limit, seed=seed)
    rules: dict[str, Match] = {"str-em": exact_presence, "dpr": has_answer}
    if match not in rules:
        raise typer.BadParameter(f"--match is one of {', '.join(rules)}")
    rows = run(opened, chosen, rules[match])
    source = without_folders(questions)
    measured = Retrieval(
        command=f"python -m lab.retrieval --index {opened.name} --questions {source} --match {match}"
        + (f" --limit {limit} --seed {seed}" if limit else ""),
        date=today(),
        questions=f"{source}, {len(chosen)} questions",
        index=f"{opened.name} ({opened.fingerprint})",
        match=match,
        stages={
            name: {
                metric: Figure.model_validate(rounded(value))
                for metric, value in row.items()
                if isinstance(value, Estimate) and not (metric == "AC@100" and "DIVA" in name)  # it keeps five
            }
            for name, row in rows.items()
        },
        milliseconds={name: round(row["ms"], 1) for name, row in rows.items()},
    )
    typer.echo(f"{measured.questions}, index {measured.index}, match {match}, 95% bootstrap intervals\n")
    typer.echo(measured.table(times=True))
    keep(measured, json_file)


if __name__ == "__main__":
    typer.run(main)
