"""The program for small language models: a passage at a time, few words out, and doubt that is measured."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
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
# Logistic regression over findings of 54 development questions of the shipped corpus and 25 of ASQA (label: whether the
# answer is one of the gold ones); either alone gives nearly the same weights.
_BIAS = -5.3
_YES = 0.7  # log odds of Yes
_SHARE = 5.1  # the passage's score / that of the best passage
_MARGIN = 0.2  # the reader's score of the span − that of no answer
_SUREST = 0.98  # so sure is a language model at most that only says Yes or No


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
    share
        The passage's score, as a share of that of the best passage.
    margin
        The reader's score of the answer less that of no answer; a difference of sums of two logits.
    """

    passage: Passage
    start: int
    answer: str
    share: float
    margin: float

    def probability(self, yes: float) -> float:
        """Return how likely it answers the question, in [0, 1].

        Parameters
        ----------
        yes
            The probability with which a language model says so.
        """
        yes = min(max(yes, 1 - _SUREST), _SUREST)
        odds = _BIAS + _YES * math.log(yes / (1 - yes)) + _SHARE * self.share + _MARGIN * self.margin
        return 1 / (1 + math.exp(-odds))

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
    gives to Yes: a small model says Yes to almost everything, but with more conviction where it is right. Together with
    the passage's score and the reader's that makes the probability that the piece answers. (4) It words a question for
    each finding that is left, and the answer that tells all of them.

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
        certainty: float = 0.4,
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
        judged = [
            (finding.probability(probability_of_yes(verdict, verdict.holds)), finding)
            for finding, verdict in zip(found, verdicts, strict=True)
        ]
        kept = self._kept(judged)
        findings = [finding for _, finding in kept]
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
            probabilities=[round(probability, 4) for probability, _ in kept],
        )

    def _mark(self, question: str, passages: Sequence[Passage]) -> list[tuple[Passage, list[Finding]]]:
        """Return the passages that are near enough, each with the pieces of it that may answer, in their order."""
        best = passages[0].score if passages else 0.0
        near = [(passage, passage.score / best if best > 0 else 1.0) for passage in passages]
        near = [(passage, share) for passage, share in near if share >= _RELEVANT]
        readings = self.reader.read([(question, passage.text) for passage, _ in near], keep=_SPANS)
        marked = []
        for (passage, share), reading in zip(near, readings, strict=True):
            pieces = [
                Finding(passage, span.start, span.text, share, span.score - reading.null_score)
                for span in sorted(reading.spans, key=lambda span: span.start)
                if len(span.text.split()) <= _LONGEST
            ]
            if pieces:
                marked.append((passage, pieces))
        return marked

    def _kept(self, judged: Sequence[tuple[float, Finding]]) -> list[tuple[float, Finding]]:
        """Return the findings that are told, the likeliest first, one of those that agree on an answer."""
        kept: list[tuple[float, Finding]] = []
        for probability, finding in sorted(judged, key=lambda one: -one[0]):
            least = self.certainty if kept else self.certainty / 2
            if probability >= least and not agree(finding.answer, [other.answer for _, other in kept]):
                kept.append((probability, finding))
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
