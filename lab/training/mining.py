"""Positives and hard negatives for a retriever, by distant supervision."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from polyqa.colbert_index.bm25 import nearest_by_words
from polyqa.metrics.answer_match import has_answer
from polyqa.metrics.text import content_words, normalize_answer

from .questions import Asked
from .squad import Example


@dataclass(frozen=True, slots=True)
class Query:
    """A question with texts that answer it and texts that look as if they did.

    Attributes
    ----------
    answers
        Aliases of all its answers: a text of another question that holds one is no negative.
    source
        Queries of one source share batches.
    grades
        How good each positive, then each negative is, as logits; empty if nobody graded them.
    """

    question: str
    positives: tuple[str, ...]
    negatives: tuple[str, ...]
    answers: tuple[str, ...]
    source: str
    grades: tuple[float, ...] = ()


def nearest(queries: NDArray[np.float32], vectors: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """Return the ``k`` rows of ``vectors`` nearest to each query by dot product, best first."""
    import faiss

    _, found = faiss.knn(queries, vectors, min(k, len(vectors)), metric=faiss.METRIC_INNER_PRODUCT)
    return np.asarray(found)


def mine_questions(
    questions: Sequence[Asked],
    passages: Sequence[str],
    near: NDArray[np.int64],
    *,
    depth: int = 30,
    most: int = 8,
) -> list[Query]:
    """Pair questions with passages of a corpus: those near that hold an answer, and those that do not.

    Parameters
    ----------
    near
        Per question the positions of the passages nearest by meaning, best first.
    depth
        How many of these, and of BM25's, are looked at. A passage that holds the answer but is far from
        the question holds it by chance.
    most
        Positives, and negatives, that are kept per question.
    """
    aliases: dict[str, tuple[str, ...]] = {}
    for asked in questions:
        aliases[asked.root] = (*aliases.get(asked.root, ()), *asked.aliases)
    lexical = nearest_by_words(passages, [asked.question for asked in questions], depth)
    found = []
    for asked, by_words, by_meaning in zip(questions, lexical, near, strict=True):
        own = [alias for alias in asked.aliases if _telling(alias)]
        if not own:
            continue
        ranks: dict[int, float] = {}
        for ranking in (by_words, by_meaning[:depth].tolist()):
            for rank, position in enumerate(ranking):
                ranks[position] = ranks.get(position, 0.0) + 1 / (20 + rank)
        order = sorted(ranks, key=lambda position: -ranks[position])
        positives = [p for p in order[:depth] if has_answer(own, passages[p]) and _shares(asked, passages[p])]
        negatives = [p for p in order if not has_answer(aliases[asked.root], passages[p])]
        if positives and negatives:
            found.append(
                Query(
                    asked.question,
                    tuple(passages[p] for p in positives[:most]),
                    tuple(passages[p] for p in negatives[:most]),
                    aliases[asked.root],
                    "questions",
                )
            )
    return found


def mine_paragraphs(examples: Iterable[Example], *, most: int = 8) -> list[Query]:
    """Pair a reader's questions with their paragraph; the article's others without the answer are negatives."""
    answerable = [example for example in examples if example.answers]
    texts = {(e.article, e.context): " ".join(f"{e.title.replace('_', ' ')} {e.context}".split()) for e in answerable}
    of_article: dict[str, list[str]] = {}
    for (article, _), text in texts.items():
        of_article.setdefault(article, []).append(text)
    found = []
    for example in answerable:
        own = texts[example.article, example.context]
        asked = stems(example.question)
        others = [text for text in of_article[example.article] if text != own]
        others.sort(key=lambda text: -len(asked & stems(text)))
        negatives = [text for text in others[: 3 * most] if not has_answer(example.texts, text)]
        found.append(Query(example.question, (own,), tuple(negatives[:most]), example.texts, "paragraphs"))
    return found


def mine_pairs(pairs: Sequence[tuple[str, str]], *, most: int = 4) -> list[Query]:
    """Pair questions with their sentence; sentences with the question's words are negatives."""
    texts = list(dict.fromkeys(text for _, text in pairs))
    near = nearest_by_words(texts, [question for question, _ in pairs], most + 1)
    return [
        Query(question, (text,), tuple(texts[hit] for hit in hits if texts[hit] != text)[:most], (), "pairs")
        for (question, text), hits in zip(pairs, near, strict=True)
    ]


def _telling(alias: str) -> bool:
    own = normalize_answer(alias)
    return len(own.replace(" ", "")) > 2 and own not in ("yes", "none")


def _shares(asked: Asked, passage: str) -> bool:
    wanted = stems(asked.question)
    return len(wanted & stems(passage)) >= min(2, len(wanted))


@lru_cache(maxsize=100_000)
def stems(text: str) -> frozenset[str]:
    """Return the beginnings, six letters each, of the words that carry meaning."""
    return frozenset(word[:6] for word in content_words(text))
