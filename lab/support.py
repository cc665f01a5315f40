"""Fits the extractive engine's support: how sure it is that a span of a passage answers a question.

python -m lab.support --questions SOURCE --index NAME [--questions SOURCE --index NAME] [--limit N]

Give training questions only. A question's five best passages are read, as RAC shows them, and five farther ones,
which programs see that read every passage alone. The label of a span is whether the answer made of it is a gold answer
of the question. Printed are the weights for `polyqa.extractive.evidence`, and how well they
tell answers from other spans where they were not fitted (five folds by question).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

from polyqa.base.errors import PolyqaError
from polyqa.colbert_index import BiEncoderReranker, ColBERTIndex, FusedRetriever, rerank
from polyqa.evaluation.loading import load_questions
from polyqa.metrics.exact_match import exact_match
from polyqa.metrics.gold import Question
from polyqa.models import Encoder, Reader

_PASSAGES = 5
_FARTHER = (6, 9, 13, 18, 24)  # places from 0
_CANDIDATES = 200
_SPANS = 3
_FOLDS = 5


@dataclass(frozen=True)
class Sample:
    """Features of spans, whether each is an answer, and the question that it is from."""

    features: NDArray[np.float64]
    right: NDArray[np.bool_]
    question: NDArray[np.int64]


@dataclass(frozen=True)
class Fit:
    """Weights of a logistic regression, and its figures on questions that it was not fitted to.

    Attributes
    ----------
    auc
        Area under the ROC curve over all spans.
    first
        Share of questions whose best supported span is an answer.
    """

    bias: float
    weights: tuple[float, ...]
    auc: float
    first: float


def collect(questions: Sequence[Question], index: ColBERTIndex, encoder: Encoder, reader: Reader, start: int) -> Sample:
    """Return the spans of the passages of each question; questions are numbered from ``start``."""
    from polyqa.extractive.evidence import Models, gather
    from polyqa.extractive.prompt import PromptPassage

    models, reranker = Models(encoder, reader), BiEncoderReranker(encoder, index)
    features: list[tuple[float, ...]] = []
    right: list[bool] = []
    owners: list[int] = []
    found = FusedRetriever([index, index.bm25]).search_many([q.question for q in questions], _CANDIDATES)
    asked = track(zip(questions, found, strict=True), "reading", len(questions), console=Console(stderr=True))
    for number, (question, candidates) in enumerate(asked, start):
        ranking = rerank(reranker, question.question, candidates, _CANDIDATES)
        farther = [ranking[place] for place in _FARTHER if place < len(ranking)]
        gold = [alias for group in question.annotations for reading in group for alias in reading.short_answers]
        for passages, ranked in ((ranking[:_PASSAGES], True), (farther, False)):
            shown = [PromptPassage(n, p.title, " ".join(p.text.split())) for n, p in enumerate(passages, 1)]
            for evidence in gather(question.question, shown, models, keep=_SPANS, ranked=ranked):
                features.append(evidence.features)
                right.append(bool(exact_match(evidence.answer, gold)))
                owners.append(number)
    return Sample(np.array(features, dtype=np.float64), np.array(right), np.array(owners, dtype=np.int64))


def fit(sample: Sample, *, folds: int = _FOLDS) -> Fit:
    """Fit the weights to all spans, and measure them by cross-validation over questions.

    Raises
    ------
    PolyqaError
        If there is no right or no wrong span, or there are fewer questions than folds.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import GroupKFold

    if not 0 < sample.right.sum() < len(sample.right) or len(set(sample.question.tolist())) < folds:
        raise PolyqaError(f"Give at least {folds} questions, some of which the index answers and some not.")

    def fitted(rows: Any) -> Any:
        return LogisticRegression(max_iter=5000).fit(sample.features[rows], sample.right[rows])

    chance = np.zeros(len(sample.right))
    for known, held in GroupKFold(folds).split(sample.features, sample.right, sample.question):
        chance[held] = fitted(known).predict_proba(sample.features[held])[:, 1]
    first = []
    for number in np.unique(sample.question):
        own = np.flatnonzero(sample.question == number)
        first.append(bool(sample.right[own[chance[own].argmax()]]))
    model = fitted(np.arange(len(sample.right)))
    return Fit(
        float(model.intercept_[0]),
        tuple(float(weight) for weight in model.coef_[0]),
        float(roc_auc_score(sample.right, chance)),
        float(np.mean(first)),
    )


def main(
    questions: Annotated[list[str], typer.Option(help="Training questions, as for polyqa evaluate; repeat for more.")],
    index: Annotated[list[str], typer.Option(help="The index of each, in the same order.")],
    reader: Annotated[str | None, typer.Option(help="Another span reader, by name or path.")] = None,
    limit: Annotated[int | None, typer.Option(min=_FOLDS, help="Only so many questions of each source.")] = None,
) -> None:
    """Fit the weights and print them."""
    from polyqa.extractive.evidence import Features

    if len(questions) != len(index):
        raise typer.BadParameter("give one --index for each --questions")
    encoder = Encoder()
    read = Reader(reader, precision="auto", batch_size=32) if reader else Reader(precision="auto", batch_size=32)
    samples: list[Sample] = []
    count = 0
    for source, name in zip(questions, index, strict=True):
        wanted = load_questions(source, limit=limit)
        samples.append(collect(wanted, ColBERTIndex(name), encoder, read, count))
        count += len(wanted)
    whole = Sample(
        np.concatenate([sample.features for sample in samples]),
        np.concatenate([sample.right for sample in samples]),
        np.concatenate([sample.question for sample in samples]),
    )
    found = fit(whole)
    typer.echo(f"{count} questions, {len(whole.right)} spans, {100 * whole.right.mean():.1f}% right")
    typer.echo(f"area under the ROC curve {found.auc:.3f}, right at first {100 * found.first:.1f}%")
    typer.echo(f"BIAS = {found.bias:.2f}")
    weights = ", ".join(f"{name}={weight:.3f}" for name, weight in zip(Features._fields, found.weights, strict=True))
    typer.echo(f"WEIGHTS = Features({weights})")


if __name__ == "__main__":
    typer.run(main)
