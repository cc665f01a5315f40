"""SIXPAQ: answers from a database of questions, answers and revisions (Sun et al., 2023, arXiv:2308.08661)."""

from collections.abc import Sequence
from typing import Unpack

import dspy

from polyqa.base.values import Interpretation
from polyqa.colbert_index import Reranker, Retriever
from polyqa.questions import FoundQuestion, QuestionRetriever
from polyqa.signatures import SelectQuestions, WriteLongFormAnswer

from .base import CallLimits, GroundedProgram, RetrievalSettings, write_answer
from .steps import Steps, ask_while, work


class SIXPAQ(GroundedProgram):
    """Retrieve generated questions with their answers, keep those that are readings, answer with passages.

    Section 3.3 of the paper: (1) retrieve the generated questions q' nearest to the question, with their
    answers (10), and a few passages (5); (2) revise each q' with its answer and its passage, twice; (3)
    write one long answer from the question, the pairs of answer and revised question, and the passages.

    Here (2) was done when the database was built. The reviser reads a retrieved question, its answer and
    its passage, and not the user's question (section 3.3.1), so that its output can be kept; the one
    difference is that the revised questions are also what the search compares.

    The paper's writer is trained and leaves out the questions that do not belong. Prompted writers use
    all they are given, so a call before it keeps those that are readings of the question. If none is kept,
    readings are extracted from the passages, as in `rac.RAC`.

    Its prediction has ``answer``, ``interpretations`` (the kept questions; ``pid`` is the passage that the
    question was made from), ``passages`` (those shown to the language model, best first, then the other
    sources of the interpretations) and ``questions`` (those retrieved, `questions.FoundQuestion`).

    Parameters
    ----------
    retriever, reranker, settings
        See `base.GroundedProgram`. The paper's long answers, too, take passages from a passage retriever
        (section 3.3.2); `polyqa.questions.QuestionRetriever` finds passages through questions (section 3.2).
    asked
        The database of questions with its index.
    similar
        How many questions are retrieved (paper: 10).
    """

    def __init__(
        self,
        retriever: Retriever,
        reranker: Reranker,
        asked: QuestionRetriever,
        *,
        similar: int = 10,
        **settings: Unpack[RetrievalSettings],
    ) -> None:
        super().__init__(retriever, reranker, **settings)
        if similar < 1:
            raise ValueError(f"similar must be at least 1, got {similar}")
        self.asked = asked
        self.similar = similar
        self.select = self.predictor(SelectQuestions)
        self.write = self.predictor(WriteLongFormAnswer)  # from the kept questions, with either preset

    @property
    def call_limits(self) -> CallLimits:
        """The choice, and the answer."""
        return CallLimits(calls=1 + self.answering_calls, depth=1 + self.answering_calls)

    def similar_questions(self, question: str) -> list[FoundQuestion]:
        """Return the generated questions nearest to the question."""
        return self.asked.questions(question, self.similar)

    def steps(self, question: str) -> Steps[dspy.Prediction]:
        """Answer a question."""
        questions = yield from work(self.similar_questions, question)
        candidates = candidate_readings(questions)
        select = (self.select, {"question": question, "candidates": render_candidates(candidates)})
        replies, passages = yield from ask_while([select] if candidates else [], self.retrieve, question)
        readings = [reading for reply in replies for reading in chosen(candidates, reply.kept)]
        if readings:
            answer = yield from write_answer(self.write, question, readings, passages)
        else:
            answer, readings = yield from self.answer_from(question, passages)
        sources = dict.fromkeys(reading.pid for reading in readings if reading.pid is not None)
        passage_pids = {passage.pid for passage in passages}
        return dspy.Prediction(
            answer=answer,
            interpretations=readings,
            passages=[*passages, *(self.asked.index.passage(pid) for pid in sources if pid not in passage_pids)],
            questions=questions,
        )


def candidate_readings(questions: Sequence[FoundQuestion]) -> list[Interpretation]:
    """Return every question with each of its distinct answers, cited by the first passage that gives it."""
    return [
        Interpretation(question=question.question, answer=answer, pid=pid)
        for question in questions
        for answer, pid in question.distinct_answers().items()
    ]


def render_candidates(candidates: Sequence[Interpretation]) -> list[str]:
    """Return what `SelectQuestions` takes; DSPy numbers the lines."""
    return [f"{reading.question} | {reading.answer}" for reading in candidates]


def chosen(candidates: Sequence[Interpretation], numbers: Sequence[int]) -> list[Interpretation]:
    """Return the candidates that numbers from 1 name, each once, in their order; other numbers name nothing."""
    return [reading for number, reading in enumerate(candidates, 1) if number in set(numbers)]
