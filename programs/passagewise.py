"""The program for small language models: a passage at a time, few words out, and doubt measured instead of asked for."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Unpack

import dspy

from polyqa.base.values import Interpretation, Passage
from polyqa.colbert_index import Reranker, Retriever
from polyqa.lm.probabilities import probability_of_yes
from polyqa.lm.sampling import GREEDY_SAMPLING
from polyqa.metrics.agreement import agree
from polyqa.metrics.text import content_words, holds, normalize_answer, sentence_at
from polyqa.models import SpanReader
from polyqa.signatures import ChooseAnswers, TellFindings, VerifyFinding

from .base import CallLimits, RetrievalSettings, RetrievingProgram
from .diversify import named
from .finding_examples import finding_demos
from .steps import Steps, ask, ask_all, work

NOTHING_FOUND = "The passages do not answer the question."
_SPANS = 5  # of a passage
_LONGEST = 10  # words of a span
_MOST = 6  # readings
_RELEVANT = 0.6  # of the best passage's score


@dataclass(frozen=True)
class Finding:
    """An answer in a passage.

    Attributes
    ----------
    passage
        Where it stands.
    start
        The first character of the answer in the passage's text.
    answer
        The answer as it stands there.
    probability
        How likely the question can mean it, in [0, 1].
    """

    passage: Passage
    start: int
    answer: str
    probability: float = 1.0

    @property
    def sentence(self) -> str:
        """The sentence in which the answer stands, on one line."""
        return " ".join(sentence_at(self.passage.text, self.start).text.split())

    def render(self) -> str:
        """Return the line that stands for this finding in a prompt."""
        title = " ".join(self.passage.title.split())
        return " | ".join(part for part in (title, self.sentence, self.answer) if part)


class Passagewise(RetrievingProgram):
    """Read one passage at a time, and keep the answers that the question can mean.

    (1) The span reader marks the pieces of each passage that may answer the question. (2) The language model is asked
    about each passage alone which of these pieces answer, and replies with their numbers. (3) It is asked about each
    piece, with its title and its sentence, whether the question can mean it; what counts is the probability that it
    gives to Yes: a small model says Yes to almost everything, but with more conviction where it is right. (4) It words
    a question for each finding that is left, and the answer that tells all of them.

    Step 2 is VERDICT's (Lee et al., 2025, equation 8) for models that cannot be trusted with a reading of their own.
    A language model that tells no probabilities is taken at its word. Worked examples are shown with each call: they
    are the same for every question, so a server that keeps prefixes reads them once.

    Its prediction has ``answer``, ``interpretations`` (each with the passage that it was found in), ``passages`` (the K
    that were read, best first) and ``probabilities`` (for each reading that of step 3).

    Parameters
    ----------
    retriever, reranker, settings
        See `base.RetrievingProgram`.
    reader
        Marks the pieces.
    certainty
        The probability from which on a finding is told, in [0, 1]. The likeliest one is told from half of it on.
    """

    paper_sampling = GREEDY_SAMPLING

    def __init__(
        self,
        retriever: Retriever,
        reranker: Reranker,
        reader: SpanReader,
        *,
        certainty: float = 0.8,
        **settings: Unpack[RetrievalSettings],
    ) -> None:
        super().__init__(retriever, reranker, **settings)
        if not 0 <= certainty <= 1:
            raise ValueError(f"certainty must be in [0, 1], got {certainty}")
        self.reader = reader
        self.certainty = certainty
        self.choose = self.predictor(ChooseAnswers)
        self.verify = self.predictor(VerifyFinding, probabilities=True)
        self.tell = self.predictor(TellFindings)
        for predictor in (self.choose, self.verify, self.tell):
            predictor.demos = finding_demos(predictor.signature)

    @property
    def call_limits(self) -> CallLimits:
        """A call for each passage, one for each piece of it, and the answer."""
        return CallLimits(calls=self.passages * (1 + _SPANS) + 1, depth=3)

    def steps(self, question: str) -> Steps[dspy.Prediction]:
        """Answer a question."""
        passages = yield from work(self.retrieve, question)
        marked = yield from work(self._mark, question, passages)
        replies = yield from ask_all(
            [
                (self.choose, {"passage": passage.render(), "question": question, "candidates": _numbered(pieces)})
                for passage, pieces in marked
            ]
        )
        found = [
            piece
            for (_, pieces), reply in zip(marked, replies, strict=True)
            for piece, chosen in zip(pieces, named(reply.chosen, len(pieces)), strict=True)
            if chosen
        ]
        verdicts = yield from ask_all(
            [(self.verify, {"question": question, "finding": finding.render()}) for finding in found]
        )
        findings = self._kept(
            [
                replace(finding, probability=probability_of_yes(verdict, verdict.holds))
                for finding, verdict in zip(found, verdicts, strict=True)
            ]
        )
        answer, readings = NOTHING_FOUND, list[Interpretation]()
        if findings:
            lines = [finding.render() for finding in findings]
            reply = yield from ask(self.tell, findings=lines, question=question)
            readings = _worded(question, findings, reply.interpretations)
            answer = _complete(reply.answer, findings)
        return dspy.Prediction(
            answer=answer,
            interpretations=readings,
            passages=passages,
            probabilities=[round(finding.probability, 4) for finding in findings],
        )

    def _mark(self, question: str, passages: Sequence[Passage]) -> list[tuple[Passage, list[Finding]]]:
        """Return the passages that are near enough, each with the pieces of it that may answer, in their order."""
        near = [one for one in passages if one.score >= _RELEVANT * passages[0].score or passages[0].score <= 0]
        readings = self.reader.read([(question, passage.text) for passage in near], keep=_SPANS)
        marked = []
        for passage, reading in zip(near, readings, strict=True):
            spans = [span for span in reading.spans if len(span.text.split()) <= _LONGEST]
            pieces = [Finding(passage, span.start, span.text) for span in sorted(spans, key=lambda span: span.start)]
            if pieces:
                marked.append((passage, pieces))
        return marked

    def _kept(self, findings: Sequence[Finding]) -> list[Finding]:
        """Return the findings that are told, the likeliest first, one of those that agree on an answer."""
        kept: list[Finding] = []
        for finding in sorted(findings, key=lambda one: -one.probability):
            least = self.certainty if kept else self.certainty / 2
            if finding.probability >= least and not agree(finding.answer, [one.answer for one in kept]):
                kept.append(finding)
        return kept[:_MOST]


def _numbered(pieces: Sequence[Finding]) -> str:
    return "\n".join(f"{number}. {' '.join(piece.answer.split())}" for number, piece in enumerate(pieces, 1))


def _worded(question: str, findings: Sequence[Finding], replied: Sequence[Interpretation]) -> list[Interpretation]:
    """Return a reading for each finding, with the question that the reply has for it.

    A reading that asks no more than the question, or the same as another one, gets the passage's title.
    """
    if len(findings) == 1:
        (only,) = findings
        return [Interpretation(question=question, answer=only.answer, pid=only.passage.pid)]
    wordings = {reading.pid: reading.question for reading in reversed(replied)}
    asked = {normalize_answer(question)}
    readings = []
    for number, finding in enumerate(findings, 1):
        wording = wordings.get(str(number)) or question
        if normalize_answer(wording) in asked:
            wording = _with_title(question, finding.passage.title)
        asked.add(normalize_answer(wording))
        readings.append(Interpretation(question=wording, answer=finding.answer, pid=finding.passage.pid))
    return readings


def _with_title(question: str, title: str) -> str:
    """Return a question that names a passage's title, unless it does already.

    >>> _with_title("Who directed Hairspray?", "Hairspray (1988 film)")
    'Who directed Hairspray (Hairspray (1988 film))?'
    """
    if not title or set(content_words(title)) <= set(content_words(question)):
        return question
    return f"{question.rstrip('?')} ({title})?"


def _complete(answer: str, findings: Sequence[Finding]) -> str:
    """Return a long answer that tells every finding: the sentences of those that it leaves out come last."""
    left = [finding.sentence for finding in findings if not holds(answer, finding.answer)]
    return " ".join([answer, *dict.fromkeys(left)])
