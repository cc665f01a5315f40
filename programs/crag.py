"""CRAG: corrective retrieval-augmented generation (Yan et al., 2024, https://arxiv.org/abs/2401.15884)."""

from collections.abc import Sequence
from functools import partial
from typing import Unpack

import dspy
import numpy as np

from polyqa.base.values import Grade, Passage
from polyqa.colbert_index import Reranker, Retriever
from polyqa.lm.sampling import DIVA_SAMPLING
from polyqa.metrics.text import sentences_by_shape
from polyqa.replies import gives_nothing
from polyqa.signatures import GradePassage, RewriteQuery

from .base import CallLimits, GroundedProgram, RetrievalSettings
from .spans import rerank_found, search
from .steps import Steps, ask, ask_while, work

_SENTENCES = 2  # in a strip; the paper says a few
_LOWEST = -0.5  # score of a strip that is kept, the paper's on a scale from -1 to 1; a cosine seldom falls below it


class CRAG(GroundedProgram):
    """Grade each retrieved passage, correct the retrieval accordingly, answer from the refined knowledge.

    Algorithm 1 of the paper: (1) grade every passage, all at once; (2) one passage that is Correct makes
    the action Correct, nothing but Incorrect ones make it Incorrect, else it is Ambiguous; (3) Correct:
    the passages are cut into strips, irrelevant strips are dropped, the others put together again;
    Incorrect: the passages are discarded and a rewritten query finds others, refined in the same way;
    Ambiguous: both; (4) the answer comes from this knowledge, as in `rac.RAC`.

    Where this departs from the paper: the evaluator is the language model, which gives a grade and not
    a score that thresholds cut (so did DIVA's CRAG); strips are scored by the reranker, for one call per
    strip would cost more than the answer; the second search is not on the web but in the same corpus,
    among the passages that were not graded yet, in the order of the rewritten query, because answers
    must come from the user's passages. With nothing found anywhere, the answer is written from no passage.

    Its prediction has ``answer``, ``interpretations`` (cited), ``passages`` (the refined ones under their
    own ids, as the language model saw them), ``universe`` (all that were retrieved, whole), ``action``
    (`Grade`), ``graded`` (ids of the K passages that were graded), ``grades`` (one `Grade` each) and
    ``search_query`` (of the second search, else empty).

    Parameters
    ----------
    retriever, reranker, settings
        See `base.GroundedProgram`; the second search pools and keeps as many as the first.
    strips
        How many strips are kept of each search, at least 1 (the paper's 5).
    """

    paper_sampling = DIVA_SAMPLING

    def __init__(
        self, retriever: Retriever, reranker: Reranker, *, strips: int = 5, **settings: Unpack[RetrievalSettings]
    ) -> None:
        super().__init__(retriever, reranker, **settings)
        if strips < 1:
            raise ValueError(f"strips must be at least 1, got {strips}")
        self.strips = strips
        self.grade = self.predictor(GradePassage)
        self.rewrite = self.predictor(RewriteQuery)

    @property
    def call_limits(self) -> CallLimits:
        """A grade for each passage at once, a second search, and the answer."""
        return CallLimits(calls=self.most_passages + 1 + self.answering_calls, depth=2 + self.answering_calls)

    def search_again(self, query: str, graded: Sequence[Passage]) -> list[Passage]:
        """Return the K passages nearest to a rewritten query, those graded already left out."""
        graded_pids = {passage.pid for passage in graded}
        pooled = search(self.retriever, query, self.candidates + len(graded_pids))
        return rerank_found(
            self.reranker, query, [passage for passage in pooled if passage.pid not in graded_pids], self.passages
        )

    def steps(self, question: str) -> Steps[dspy.Prediction]:
        """Answer a question."""
        refine = partial(refine_passages, self.reranker, question, keep=self.strips)
        graded = yield from work(self.retrieve, question)
        # Refined before it is known whether it is needed: the strips are encoded while the grades are awaited.
        replies, refined = yield from ask_while(
            [(self.grade, {"question": question, "passage": passage.render()}) for passage in graded],
            refine,
            graded,
        )
        grades = [Grade(reply.grade) for reply in replies]
        action = Grade.of_all(grades)
        knowledge = [] if action is Grade.INCORRECT else refined
        query, further_passages = "", list[Passage]()
        if action is not Grade.CORRECT:
            rewritten = yield from ask(self.rewrite, question=question)
            # A language model that rewrites to nothing, or will not, leaves the question to search with.
            query = " ".join(rewritten.search_query.split())
            query = question if gives_nothing(query) else query
            further_passages = yield from work(self.search_again, query, graded)
            knowledge += yield from work(refine, further_passages)
        answer, interpretations = yield from self.answer_from(question, knowledge)
        return dspy.Prediction(
            answer=answer,
            interpretations=interpretations,
            passages=knowledge,
            universe=[*graded, *further_passages],
            action=action,
            graded=[passage.pid for passage in graded],
            grades=grades,
            search_query=query,
        )


def decompose(passage: Passage) -> list[Passage]:
    """Cut a passage into strips of two sentences, each with its id and title; a shorter passage is one strip."""
    parts = [sentence.text for sentence in sentences_by_shape(passage.text)]
    strips = [" ".join(parts[at : at + _SENTENCES]) for at in range(0, len(parts), _SENTENCES)]
    return [passage.model_copy(update={"text": strip}) for strip in strips]


def refine_passages(reranker: Reranker, question: str, passages: Sequence[Passage], *, keep: int) -> list[Passage]:
    """Return the passages with nothing but their relevant strips (section 4.4: decompose, filter, recompose).

    Parameters
    ----------
    reranker
        Scores the strips against the question.
    keep
        How many strips of all passages together are kept at most.

    Returns
    -------
    list of Passage
        In the given order, under their ids, with the kept strips in the order of the text and the best
        strip's score; passages without a kept strip are left out.
    """
    strips = [(at, strip) for at, passage in enumerate(passages) for strip in decompose(passage)]
    if not strips:
        return []
    scores = reranker.score([question], [strip for _, strip in strips])[0]
    best = [int(index) for index in np.argsort(-scores, kind="stable")[:keep] if scores[index] >= _LOWEST]
    refined = []
    for at, passage in enumerate(passages):
        places = sorted(index for index in best if strips[index][0] == at)
        if places:
            text = " ".join(strips[index][1].text for index in places)
            score = float(max(scores[index] for index in places))
            refined.append(passage.model_copy(update={"text": text, "score": score}))
    return refined
