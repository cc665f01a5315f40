"""MADAM-RAG: a debate of agents that have read one document each (Wang et al., 2025, https://arxiv.org/abs/2504.13079)."""

from collections.abc import Sequence
from typing import NamedTuple, Unpack

import dspy

from polyqa.base.values import Interpretation, Passage
from polyqa.colbert_index import Reranker, Retriever
from polyqa.lm.calls import Fallback
from polyqa.lm.sampling import GREEDY_SAMPLING
from polyqa.metrics.agreement import repeats
from polyqa.metrics.text import normalize_answer
from polyqa.replies import gives_nothing, is_null
from polyqa.signatures import AggregateAnswers, ReadDocument, ReviseAnswer

from .base import CallLimits, RetrievalSettings, RetrievingProgram
from .citation import cite
from .steps import CallTuple, Steps, ask, ask_all, work


class _Reply(NamedTuple):
    """What an agent says of its document: its answer is empty if the document gives none."""

    answer: str
    explanation: str

    @classmethod
    def of(cls, reply: dspy.Prediction) -> "_Reply":
        answer, explanation = " ".join(reply.short_answer.split()), " ".join(reply.explanation.split())
        silent = gives_nothing(answer) or is_null(explanation)
        return cls("", "It does not answer the question.") if silent else cls(answer, explanation)

    def keeps(self, earlier: "_Reply") -> bool:
        """Return whether one of the two answers holds the other, normalised, as the released code compares them."""
        one, other = normalize_answer(self.answer), normalize_answer(earlier.answer)
        return one in other or other in one if one and other else one == other


class MadamRAG(RetrievingProgram):
    """Let an agent answer from each document, have an aggregator collect the answers, and debate until nobody changes.

    Section 3 of the paper: (1) for each of the K documents, all at once, an agent answers from this document alone
    and explains it; (2) an aggregator reads all replies, gives every right answer (those about different things of
    one name are all right) and leaves out misinformation and noise; (3) in each later round every agent sees what the
    aggregator made of the replies, and answers again, and the aggregator reads these replies; the debate ends when no
    agent changes its answer (then what the aggregator said last stands), or after the last round. The paper's
    aggregator gives a list of answers with an explanation; here these are readings with a long answer that tells
    them. The released code shows an agent the replies of the other agents in place of the aggregator's summary.

    Its prediction has ``answer``, ``interpretations`` (cited), ``passages`` (the K documents, best first), ``agents``
    (the last answer of each, ``None`` where its document gives none) and ``rounds`` (how many were held).

    Parameters
    ----------
    retriever, reranker, settings
        See `base.RetrievingProgram`. With ``preset="lean"``, the default, there is a debate only if agents gave
        different answers, and those whose documents give none are not asked again; with ``paper`` all are.
    rounds
        How many rounds there are at most, the first one included (paper: 3).
    """

    paper_sampling = GREEDY_SAMPLING

    def __init__(
        self, retriever: Retriever, reranker: Reranker, *, rounds: int = 3, **settings: Unpack[RetrievalSettings]
    ) -> None:
        super().__init__(retriever, reranker, **settings)
        if rounds < 1:
            raise ValueError(f"rounds must be at least 1, got {rounds}")
        self.rounds = rounds
        self.read = self.predictor(ReadDocument)
        self.revise = self.predictor(ReviseAnswer)
        self.aggregate = self.predictor(AggregateAnswers)

    @property
    def call_limits(self) -> CallLimits:
        """In each round a reply of every agent at once, then that of the aggregator."""
        return CallLimits(calls=self.rounds * (self.most_passages + 1), depth=2 * self.rounds)

    def steps(self, question: str) -> Steps[dspy.Prediction]:
        """Answer a question."""
        passages = yield from work(self.retrieve, question)
        read = yield from ask_all([(self.read, {"question": question, "passage": one.render()}) for one in passages])
        agents = [_Reply.of(reply) for reply in read]
        collected = yield from self._collected(question, passages, agents)
        rounds = 1
        while rounds < self.rounds and (debaters := self._debaters(agents)):
            summary = f"{'; '.join(one.answer for one in collected.interpretations) or 'no answer'}. {collected.answer}"
            revised = yield from ask_all(
                [self._revision(question, passages[at], agents[at], summary) for at in debaters]
            )
            before, rounds = list(agents), rounds + 1
            for at, reply in zip(debaters, revised, strict=True):
                agents[at] = _Reply.of(reply)
            if all(now.keeps(earlier) for now, earlier in zip(agents, before, strict=True)):
                break
            collected = yield from self._collected(question, passages, agents)
        return dspy.Prediction(
            answer=collected.answer,
            interpretations=cite(collected.interpretations, passages),
            passages=passages,
            agents=[agent.answer or None for agent in agents],
            rounds=rounds,
        )

    def _debaters(self, agents: Sequence[_Reply]) -> list[int]:
        """Return the places of the agents that take part in another round."""
        if not self.lean:
            return list(range(len(agents)))
        telling = [at for at, agent in enumerate(agents) if agent.answer]
        return [] if all(repeats(agents[at].answer, [agents[telling[0]].answer]) for at in telling) else telling

    def _revision(self, question: str, passage: Passage, agent: _Reply, summary: str) -> CallTuple:
        inputs = {"question": question, "passage": passage.render(), "summary": summary}
        unchanged = {"short_answer": agent.answer or "null", "explanation": agent.explanation}
        return self.revise, inputs, Fallback(unchanged, "the agent keeps its answer")

    def _collected(
        self, question: str, passages: Sequence[Passage], agents: Sequence[_Reply]
    ) -> Steps[dspy.Prediction]:
        """Return what the aggregator makes of the replies; if that fails, the replies as they are."""
        lines = [
            f"{passage.title_in_line} | {agent.explanation} | {agent.answer or 'unknown'}"
            for passage, agent in zip(passages, agents, strict=True)
        ]
        numbered = [(str(number), agent) for number, agent in enumerate(agents, 1) if agent.answer]
        readings = [Interpretation(question=question, answer=agent.answer, pid=number) for number, agent in numbered]
        explanations = dict.fromkeys(agent.explanation for _, agent in numbered)
        answer = " ".join(explanations) or "No document answers the question."
        collected = {"interpretations": readings, "answer": answer}
        fallback = Fallback(collected, "the answers of all documents are told", len(readings))
        return (yield from ask(self.aggregate, fallback=fallback, replies=lines, question=question))
