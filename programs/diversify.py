"""What a question could mean, and passages for all of it (DIVA, equations 3 to 5)."""

from collections.abc import Sequence
from typing import Literal, Unpack

import dspy
import numpy as np

from polyqa.base.values import Coverage, Interpretation, Passage
from polyqa.colbert_index import Reranker, Retriever
from polyqa.metrics.agreement import agree
from polyqa.models import Encoder
from polyqa.questions import FoundQuestion, QuestionRetriever
from polyqa.signatures import InferPseudoInterpretations, TypeAmbiguity

from .base import GroundedProgram, RetrievalSettings
from .consolidation import consolidate
from .spans import scores
from .steps import Steps, ask, ask_while, work

Pseudo = Literal["lm", "questions"]
Answer = tuple[str, list[Interpretation]]
"""A long answer, and the readings that it tells."""
_SIMILAR = 20  # generated questions
_NEAR = 0.75
"""A generated question is taken if it is at least this share as near as the nearest."""


class DiversifySettings(RetrievalSettings, total=False):
    """The settings of every program that diversifies."""

    max_interpretations: int
    pseudo: Pseudo


class DiversifyingProgram(GroundedProgram):
    """Names the ambiguity of a question, infers its pseudo-interpretations, and finds passages that cover them.

    Parameters
    ----------
    retriever, reranker, settings
        See `base.GroundedProgram`; the reranker is both R of DIVA's equation 4 and Enc of equation 5.
    asked
        A database of generated questions with its index; needed for ``pseudo="questions"``, together with the encoder.
    max_interpretations
        How many pseudo-interpretations are used at most; the paper sets no limit, its examples have
        two to six.
    pseudo
        Where pseudo-interpretations come from: the ``lm`` (the paper), or the generated ``questions`` nearest to the
        asked one (`from_questions`), which saves a call. Where no question is near the asked one is the only
        pseudo-interpretation.
    """

    def __init__(
        self,
        retriever: Retriever,
        reranker: Reranker,
        asked: QuestionRetriever | None = None,
        *,
        max_interpretations: int = 10,
        pseudo: Pseudo = "lm",
        **settings: Unpack[RetrievalSettings],
    ) -> None:
        super().__init__(retriever, reranker, **settings)
        if max_interpretations < 1:
            raise ValueError(f"max_interpretations must be at least 1, got {max_interpretations}")
        if pseudo not in ("lm", "questions"):
            raise ValueError(f"pseudo is lm or questions, got {pseudo!r}")
        if pseudo == "questions" and (asked is None or self.encoder is None):
            raise ValueError("pseudo='questions' takes a database of generated questions and an encoder")
        self.max_interpretations = max_interpretations
        self.pseudo: Pseudo = pseudo
        self.asked = asked
        self.classify = self.predictor(TypeAmbiguity)
        self.infer = self.predictor(InferPseudoInterpretations)

    @property
    def diversifying_calls(self) -> int:
        """How many calls name the ambiguity and infer pseudo-interpretations."""
        return 1 if self.pseudo == "questions" else 2

    def diversified(self, question: str) -> Steps[tuple[dspy.Prediction, list[str], list[Passage]]]:
        """Return the kind of ambiguity, the pseudo-interpretations, and K passages that cover them."""
        (typed,), candidates = yield from ask_while([(self.classify, {"question": question})], self.search, question)
        pseudo = yield from self.infer_from(question, typed)
        return typed, pseudo, (yield from work(self.covering, candidates, pseudo))

    @staticmethod
    def prediction(
        answer: Answer, passages: Sequence[Passage], typed: dspy.Prediction, pseudo: list[str], verdicts: list[bool]
    ) -> dspy.Prediction:
        """Return the fields that the predictions of DIVA and its kin have."""
        return dspy.Prediction(
            answer=answer[0],
            interpretations=answer[1],
            passages=passages,
            coverage=Coverage.from_verdicts(verdicts),
            ambiguity=typed.ambiguity_types,
            reason=typed.reason,
            pseudo_interpretations=pseudo,
            verdicts=verdicts,
        )

    def infer_from(self, question: str, typed: dspy.Prediction) -> Steps[list[str]]:
        """Return the pseudo-interpretations (equation 3); where there are none the question is the only one."""
        if self.pseudo == "questions":
            return (yield from work(self.similar_questions, question)) or [question]
        inferred = yield from ask(self.infer, question=question, reason=typed.reason)
        return list(inferred.pseudo_interpretations)[: self.max_interpretations] or [question]

    def similar_questions(self, question: str) -> list[str]:
        """Return the generated questions that stand for readings of a question, nearest first."""
        assert self.asked is not None
        assert self.encoder is not None
        similar = self.asked.questions(question, _SIMILAR)
        return from_questions(similar, self.encoder, most=self.max_interpretations)

    def covering(self, candidates: Sequence[Passage], pseudo_interpretations: Sequence[str]) -> list[Passage]:
        """Return the K passages that cover the pseudo-interpretations best.

        Of the top K of each pseudo-interpretation (equation 4) those with the highest mean similarity to all of them
        (equation 5), best first.
        """
        if not candidates:
            return []
        relevance = scores(self.reranker, pseudo_interpretations, candidates)  # (pseudo-interpretations, candidates)
        nearest = np.argsort(-relevance, axis=1, kind="stable")[:, : self.passages]
        mean = relevance.mean(axis=0)
        best = sorted(np.unique(nearest), key=lambda index: -mean[index])[: self.passages]
        return [candidates[index].with_score(mean[index]) for index in best]


def from_questions(similar: Sequence[FoundQuestion], encoder: Encoder, *, most: int) -> list[str]:
    """Return generated questions as the pseudo-interpretations of a question, nearest first.

    What DIVA (equation 3) asks of a language model's knowledge of the world is here taken from the passages: of the
    generated questions (SIXPAQ, section 3.1) those with distinct answers, of like ones the medoid (VERDICT,
    section 4.2). None of the papers does this.

    Parameters
    ----------
    similar
        Generated questions, nearest to the asked one first.
    encoder
        Embeds each question with its answer.
    most
        How many are returned at most.
    """
    distinct: list[FoundQuestion] = []
    answers: list[str] = []
    for question in similar:
        if question.score < _NEAR * similar[0].score:
            break
        if not all(agree(answer, answers) for answer in question.answers):
            distinct.append(question)
            answers.extend(question.answers)
    clusters = consolidate(encoder.encode([f"{question.question} {question.answers[0]}" for question in distinct]))
    # A question of its own is a reading of its own: unlike passages that were asked, these hold no guesses.
    chosen = sorted([*(cluster[0] for cluster in clusters.clusters), *clusters.outliers])
    return [distinct[place].question for place in chosen][:most]


def named(numbers: Sequence[int], count: int) -> list[bool]:
    """Return for each of ``count`` numbered things whether a reply names its number; other numbers name nothing."""
    return [number in numbers for number in range(1, count + 1)]
