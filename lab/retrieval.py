"""How well retrieval covers the readings: AC@k and MRecall@k of every stage, in one table.

python -m lab.retrieval --index NAME --questions SOURCE [--limit N] [--json FILE]
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Literal

import dspy
import numpy as np
import typer

from polyqa.artifacts.card import Figure
from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.colbert_index import (
    BiEncoderReranker,
    ColBERTIndex,
    FusedRetriever,
    Reranker,
    SpanReaderReranker,
    rerank,
    rerank_found,
)
from polyqa.evaluation.columns import MEAN
from polyqa.evaluation.loading import load_questions
from polyqa.evaluation.statistics import estimate
from polyqa.extractive import ExtractiveEngine, embedded_lm
from polyqa.metrics import answer_coverage, exact_presence, has_answer, mrecall
from polyqa.metrics.answer_match import Match
from polyqa.metrics.gold import Question
from polyqa.models import Encoder, Reader
from polyqa.programs import DIVA
from polyqa.questions import QuestionDatabase, QuestionRetriever, questions_path

from .results import JsonFile, Questions, Seed, Table, report, rounded, without_folders

Ranking = Sequence[Sequence[Passage]]
_METRICS = ("AC@5", "AC@100", "MRecall@5")


def mean(values: Sequence[float]) -> Figure:
    """Return the mean of values with its bootstrap interval."""
    estimated = estimate(MEAN, [np.asarray(values, dtype=np.float64)])
    if estimated is None:
        raise PolyqaError("There is no question to score.")
    return Figure.model_validate(rounded(estimated))


def evaluate_ranking(questions: Sequence[Question], ranking: Ranking, match: Match) -> dict[str, Figure]:
    """Return AC@5, AC@100 and MRecall@5 of ranked passages; an answer may stand in title or text."""
    texts = [[passage.render() for passage in passages] for passages in ranking]
    pairs = list(zip(questions, texts, strict=True))
    return {
        "AC@5": mean([answer_coverage(q.answers, t, 5, match=match) for q, t in pairs]),
        "AC@100": mean([answer_coverage(q.answers, t, 100, match=match) for q, t in pairs]),
        "MRecall@5": mean([mrecall(q.answers, t, 5, match=match) for q, t in pairs]),
    }


def reranked(
    reranker: Reranker, questions: Sequence[Question], candidates: Ranking, order: Callable[..., list[Passage]] = rerank
) -> Ranking:
    """Return the candidates in the order of the reranker, or in another that it has a part in."""
    return [order(reranker, one.question, own, len(own)) for one, own in zip(questions, candidates, strict=True)]


def diversified(program: DIVA, questions: Sequence[str]) -> Ranking:
    """Return DIVA's passages for each question, with the embedded engine's pseudo-interpretations."""
    ranking = []
    with dspy.context(lm=embedded_lm(ExtractiveEngine(encoder=program.encoder))):
        for question in questions:
            typed = program.classify(question=question)
            inferred = program.infer(question=question, reason=typed.reason)
            ranking.append(program.covering(program.search(question), inferred.pseudo_interpretations))
    return ranking


def diversified_by_questions(program: DIVA, questions: Sequence[str]) -> Ranking:
    """Return DIVA's passages for each question, with pseudo-interpretations from generated questions."""
    return [program.covering(program.search(text), program.similar_questions(text) or [text]) for text in questions]


def run(
    index: ColBERTIndex, questions: Sequence[Question], match: Match, depth: int = 200
) -> dict[str, dict[str, Figure]]:
    """Return the scores of every stage.

    Where the index has a database of generated questions in its folder, DIVA's passages by these are a stage, too.
    """
    encoder = Encoder()
    reranker = BiEncoderReranker(encoder, index)
    fused = FusedRetriever([index, index.bm25])
    asked = [question.question for question in questions]
    colbert, both = index.search_many(asked, depth), fused.search_many(asked, depth)
    reading = SpanReaderReranker(reranker, Reader(precision="auto", batch_size=32))
    rankings: dict[str, Ranking] = {
        "BM25": index.bm25.search_many(asked, depth),
        "ColBERT": colbert,
        "fused": both,
        "ColBERT + rerank": reranked(reranker, questions, colbert),
        "fused + rerank": reranked(reranker, questions, both),
        "fused + rerank, both counted (what programs do)": reranked(reranker, questions, both, rerank_found),
        "fused + rerank + reader": reranked(reading, questions, both),
        "fused + DIVA (5 passages)": diversified(DIVA(fused, reranker, encoder=encoder), asked),
    }
    if questions_path(index).is_dir():
        made = QuestionRetriever(QuestionDatabase(questions_path(index), encoder=encoder, index=index), index)
        by_questions = DIVA(fused, reranker, made, encoder=encoder, pseudo="questions")
        rankings["fused + DIVA by generated questions (5 passages)"] = diversified_by_questions(by_questions, asked)
    return {stage: evaluate_ranking(questions, ranking, match) for stage, ranking in rankings.items()}


def main(
    index: Annotated[str, typer.Option(help="Name or path of the index.")],
    questions: Questions,
    split: Annotated[str | None, typer.Option(help="Which split of the questions, if there are several.")] = None,
    limit: Annotated[int | None, typer.Option(help="A random sample of so many questions.")] = None,
    match: Annotated[
        Literal["str-em", "dpr"], typer.Option(help="When a passage holds an answer: ASQA's substring, or tokens.")
    ] = "str-em",
    seed: Seed = 0,
    json_file: JsonFile = None,
) -> None:
    """Score every stage of retrieval on questions that say what answers each reading."""
    opened = ColBERTIndex(index)
    chosen = load_questions(questions, split=split, limit=limit, seed=seed)
    scored = run(opened, chosen, exact_presence if match == "str-em" else has_answer)
    rows = [
        [stage, *("–" if name == "AC@100" and "DIVA" in stage else str(scores[name]) for name in _METRICS)]
        for stage, scores in scored.items()  # DIVA keeps five passages
    ]
    about = f"{without_folders(questions)}, {len(chosen)} questions; index {opened.name} ({opened.fingerprint})"
    report(f"{about}; an answer counts by {match}", Table(heads=["retrieval", *_METRICS], rows=rows), json_file)


if __name__ == "__main__":
    typer.run(main)
