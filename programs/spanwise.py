"""The program for small language models: a span at a time, few words out, and doubt that is measured."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Unpack

import dspy

from polyqa.base.text import in_paragraphs
from polyqa.base.values import Interpretation, Passage
from polyqa.colbert_index import Reranker, Retriever
from polyqa.extractive.planted import as_evidence
from polyqa.lm.probabilities import probability_of_first, probability_of_yes
from polyqa.lm.sampling import GREEDY_SAMPLING
from polyqa.metrics.agreement import agree, repeats
from polyqa.metrics.text import (
    ends,
    holds,
    names_and_numbers,
    names_title,
    normalize_answer,
    sentences,
    split_title,
    stems,
    with_title,
)
from polyqa.models import SpanReader
from polyqa.signatures import ReadPassage, TellFindings, VerifyFinding

from .base import CallLimits, RetrievalSettings, RetrievingProgram
from .citation import LESS_CERTAIN
from .findings import PROMPTED, READ, Finding, Weights
from .knn import KNNPredict
from .passages_read import NONE, READING, answers_in, shown, supported
from .steps import Steps, ask, ask_all, work
from .worked_examples import finding_demos

NOTHING_FOUND = "The passages do not answer the question."
# On 444 questions of eight sets, most over five passages each, two spans of each of five passages, however little the
# reader thinks of them, found 64% of the readings with 8.6 calls a question; these found 65% with 6.6, and as many of
# what was told were right. Where there are more passages, as on homonyms, the calls are about as many as before.
_PASSAGES = 8
_SPANS = 3  # of a passage
_LEAST = -7.0  # how far a span's score may be below that of no answer
_READ = 6  # spans that the reader gives, as some are too long
_LONGEST = 10  # words of a span
_MOST = _PASSAGES  # readings: as many as passages, as each may be about another thing of one name
_DOUBTFUL = 2  # findings that are told as less certain
_RELEVANT = 0.6  # of the best passage's score
# The same for passages that are read whole: on 102 questions 3.9 passages a question in place of 4.9; on homonyms as
# much is found, on RAMDocs 63% in place of 65%. Without those of which the reader scores no span as `_LEAST` wants it,
# 3.1 of them, as much is found, and a little more of it is right.
_READABLE = 0.7
_PRONOUN = re.compile(r"\b(?:he|she|it|they|him|her|them|his|hers|its|their|who|which|this|these|there)\b", re.I)
# The probability from which on a finding is told in the model's words: it words one that does not answer as if it did.
_WORDED = 0.6


class Spanwise(RetrievingProgram):
    """Ask about each span that the reader marks whether the question can mean it.

    (1) The span reader marks up to three pieces of each passage that may answer. (2) The language model is asked about
    each of them, with its title and its sentence, whether the question can mean it. What counts is the probability
    that it gives to Yes: a small model says Yes to almost everything, but with more conviction where it is right.
    Together with the passage's score and the reader's that makes the probability that the piece answers. (3) It words
    a question for each finding that is likely right, and a sentence that tells it. Less likely ones are quoted.

    Step 2 is VERDICT's feedback of the generator (Lee et al., 2025, equation 8) for models that cannot be trusted with
    a reading of their own. A language model that tells no probabilities is taken at its word. Worked examples are shown
    with each call. They are the same for every question, so a server that keeps the beginnings of prompts reads them
    once. A model with weights that were trained to copy answers out of passages (``local``;
    ``polyqa/models/weights/read-passage``) does so in place of steps 1 and 2, a passage a call, but for passages in
    which the reader sees nothing: its answers are the findings, and how likely it found that the passage has none tells
    how far to trust them. Instructions and examples of step 2, compiled or not, are for other models.

    Its prediction has ``answer``, ``interpretations`` (each with the passage that it was found in), ``passages`` (the K
    that were read, best first) and ``probabilities`` (for each reading that of its finding).
    If the model has trained weights, they are its ``confidence`` as well, in place of what the embedded reader makes
    of the readings.

    Parameters
    ----------
    retriever, reranker, settings
        See `base.RetrievingProgram`.
    reader
        Marks the pieces.
    certainty
        The probability from which on a finding is a reading, in [0, 1]; with trained weights it takes more beside a
        surer one, up to a quarter as much again. From half of it on the likeliest one is a reading all the same, and
        the answer ends with the sentences of the two likeliest others, as less certain.
    """

    paper_sampling = GREEDY_SAMPLING
    per_reading = ("probabilities", "confidence")

    def __init__(
        self,
        retriever: Retriever,
        reranker: Reranker,
        reader: SpanReader,
        *,
        certainty: float = 0.4,
        **settings: Unpack[RetrievalSettings],
    ) -> None:
        settings.setdefault("passages", _PASSAGES)
        super().__init__(retriever, reranker, **settings)
        if not 0 <= certainty <= 1:
            raise ValueError(f"certainty must be in [0, 1], got {certainty}")
        self.reader = reader
        self.certainty = certainty
        self.verify = self.predictor(VerifyFinding, probabilities=True)
        self.tell = self.predictor(TellFindings)
        for predictor in (self.verify, self.tell):
            predictor.demos = finding_demos(predictor.signature)

    @property
    def call_limits(self) -> CallLimits:
        """A call for each finding or passage at once, and the answer."""
        return CallLimits(calls=self.most_passages * _SPANS + 1, depth=2)

    def steps(self, question: str) -> Steps[dspy.Prediction]:
        """Answer a question."""
        passages = yield from work(self.retrieve, question)
        weights, judge = (READ, self._read) if self.reads else (PROMPTED, self._verify)
        judged = yield from judge(question, passages)
        chosen, doubtful = self._kept(judged, weights)
        answer, readings, reply = NOTHING_FOUND, list[Interpretation](), dspy.Prediction(interpretations=[], answer="")
        if sure := [finding for probability, finding in chosen if probability >= _WORDED]:
            lines = [finding.render() for finding in sure]
            reply = yield from ask(self.tell, findings=lines, question=question)
        if chosen:
            findings = [finding for _, finding in chosen]
            readings = yield from work(self._worded, question, findings, reply.interpretations)
            answer = _complete(question, reply.answer, chosen, doubtful)
        probabilities = [round(probability, 4) for probability, _ in chosen]
        prediction = dspy.Prediction(
            answer=answer, interpretations=readings, passages=passages, probabilities=probabilities
        )
        if weights is READ:
            prediction.confidence = list(probabilities)
        return prediction

    def _verify(self, question: str, passages: Sequence[Passage]) -> Steps[list[tuple[float, Finding]]]:
        """Return what the reader marks, each with the probability that it answers."""
        marked = yield from work(self.mark, question, passages)
        verdicts = yield from ask_all(
            [(self.verify, {"question": question, "finding": finding.render()}) for finding in marked]
        )
        return [
            (finding.probability(probability_of_yes(verdict, verdict.holds)), finding)
            for finding, verdict in zip(marked, verdicts, strict=True)
        ]

    def _read(self, question: str, passages: Sequence[Passage]) -> Steps[list[tuple[float, Finding]]]:
        """Return what the language model copies out of passages, each with the probability that it answers."""
        read = KNNPredict(ReadPassage, probabilities=True)  # none of the predictors that are compiled
        read.lm = self.verify.lm
        near = self._near(passages, _READABLE)
        readings = yield from work(self.reader.read, [(question, passage.text) for passage, _ in near])
        margins = [reading.margin for reading in readings]
        least_margin = min(_LEAST, max(margins, default=_LEAST))  # the likeliest one is read in any case
        likely = [(*one, margin) for one, margin in zip(near, margins, strict=True) if margin >= least_margin]
        replies = yield from ask_all(
            [(read, {"question": question, "passage": shown(passage), **READING}) for passage, _, _ in likely]
        )
        judged = [
            (1 - probability_of_first(reply, NONE), Finding(passage, start, answer, share, max(margin, _LEAST)))
            for (passage, share, margin), reply in zip(likely, replies, strict=True)
            for start, answer in answers_in(passage, reply.answers, question)
        ]
        findings = supported([finding for _, finding in judged])
        return [(finding.probability(yes, READ), finding) for (yes, _), finding in zip(judged, findings, strict=True)]

    @property
    def reads(self) -> bool:
        """Whether the language model has weights for `ReadPassage`."""
        lm: Any = self.verify.lm or dspy.settings.lm
        return bool(getattr(lm, "reads_passages", False))

    def _near(self, passages: Sequence[Passage], least_share: float) -> list[tuple[Passage, float]]:
        """Return the passages with at least a share of the best one's score, and that share.

        The sentences of each that speak to a language model are left out.
        """
        best = max((passage.score for passage in passages), default=0.0)
        near = [(passage, passage.score / best if best > 0 else 1.0) for passage in passages]
        return [(as_evidence(passage), share) for passage, share in near if share >= least_share]

    def mark(self, question: str, passages: Sequence[Passage]) -> list[Finding]:
        """Return the findings about which the language model is asked.

        Parameters
        ----------
        question
            The question.
        passages
            Those retrieved, the best first. Those far from the best one in score are left out, as are the sentences of
            each that speak to a language model.

        Returns
        -------
        list
            At most three for each passage, in the passages' order. Those that the reader thinks little of are left out.
        """
        near = self._near(passages, _RELEVANT)
        readings = self.reader.read([(question, passage.text) for passage, _ in near], keep=_READ)
        marked = []
        for (passage, share), reading in zip(near, readings, strict=True):
            spans = [span for span in reading.spans if len(span.text.split()) <= _LONGEST][:_SPANS]
            marked += [
                Finding(passage, span.start, span.text, share, margin)
                for span in sorted(spans, key=lambda span: span.start)
                if (margin := span.score - reading.null_score) >= _LEAST
            ]
        return marked

    def _worded(
        self, question: str, findings: Sequence[Finding], replied: Sequence[Interpretation]
    ) -> list[Interpretation]:
        """Return a reading for each finding, with the question that the reply has for it.

        A reading that asks no more than the question, the same as another one, or what its passage answers otherwise
        (*When did they take off?* for the day of the landing), gets the passage's title.
        """
        if len(findings) == 1:
            (only,) = findings
            return [Interpretation(question=question, answer=only.answer, pid=only.passage.pid)]
        by_number: dict[str | None, Finding] = {str(number): finding for number, finding in enumerate(findings, 1)}
        worded = [reading for reading in reversed(replied) if reading.pid in by_number]
        marked = self.reader.read([(reading.question, by_number[reading.pid].passage.text) for reading in worded])
        wordings = {
            reading.pid: reading.question
            for reading, marks in zip(worded, marked, strict=True)
            if any(agree(span.text, [by_number[reading.pid].answer]) for span in marks.spans)
        }
        used_wordings, titles = {normalize_answer(question)}, [finding.passage.title for finding in findings]
        readings = []
        for number, finding in by_number.items():
            wording = wordings.get(number, question)
            if normalize_answer(wording) in used_wordings:
                wording = with_title(question, finding.passage.title, titles)
            used_wordings.add(normalize_answer(wording))
            readings.append(Interpretation(question=wording, answer=finding.answer, pid=finding.passage.pid))
        return readings

    def _kept(
        self, judged: Sequence[tuple[float, Finding]], weights: Weights
    ) -> tuple[list[tuple[float, Finding]], list[Finding]]:
        """Return the findings that are told and those that are told as doubtful, the likeliest first.

        Of several that repeat an answer there is one.
        """
        chosen: list[tuple[float, Finding]] = []
        doubtful: list[Finding] = []
        for probability, finding in sorted(judged, key=lambda pair: -pair[0]):
            earlier = [*(other for _, other in chosen), *doubtful]
            if probability < self.certainty / 2 or repeats(finding.answer, [other.answer for other in earlier]):
                continue
            if not chosen or probability >= self.certainty * max(1.0, weights.beside * chosen[0][0]):
                chosen.append((probability, finding))
            else:
                doubtful.append(finding)
        return chosen[:_MOST], doubtful[: min(_DOUBTFUL, max(0, _MOST - len(chosen)))]


def _complete(question: str, answer: str, chosen: Sequence[tuple[float, Finding]], doubtful: Sequence[Finding]) -> str:
    """Return a long answer that tells every finding, and last quotes doubtful ones, if they are sentences."""
    titles = [finding.passage.title for finding in (*(one for _, one in chosen), *doubtful)]
    text = _told(question, answer, chosen, titles)
    covered = [finding.sentence for _, finding in chosen]
    less = [one for one in doubtful if not holds(text, one.answer) and one.sentence not in covered and one.reads_well]
    quotes = dict.fromkeys(_quote(one, titles) for one in less)
    return in_paragraphs(text, " ".join([LESS_CERTAIN, *quotes]) if less else "")


def _quote(finding: Finding, titles: Sequence[str]) -> str:
    """Return the sentence of a finding, after the passage's title if it does not name that apart from the others."""
    quoted = finding.quoted if ends(finding.quoted) else f"{finding.quoted.rstrip('…')}…"
    quoted = f"{'…' * quoted[:1].islower()}{quoted}"  # a passage may begin within a sentence
    title = finding.passage.title
    return quoted if names_title(quoted, title, titles) else f"{title}: {quoted}"


def _told(question: str, answer: str, chosen: Sequence[tuple[float, Finding]], titles: Sequence[str]) -> str:
    """Return the line for each finding, with what it is about, or a quote where the line is none that it bears out.

    Small models leave answers out, add names and figures of their own or of another thing, and say of two things of one
    name the same but for the answer.
    """
    lines = [line.strip() for line in answer.splitlines() if line.strip()]
    if len(lines) != sum(probability >= _WORDED for probability, _ in chosen):
        lines = []
    lines += [""] * (len(chosen) - len(lines))
    findings = [finding for _, finding in chosen]
    lines = [_up_to(finding.answer, line) for line, finding in zip(lines, findings, strict=True)]
    # Two lines about things of one name that differ in the answer alone do not say which is which.
    rests = [(one.passage.title, line.replace(one.answer, "")) for line, one in zip(lines, findings, strict=True)]
    shared = Counter(rests)
    told_lines, about, quoted = list[str](), "", list[tuple[str, str]]()
    for line, rest, finding in zip(lines, rests, findings, strict=True):
        title = finding.passage.title
        if shared[rest] > 1 and any(of == title and holds(quote, finding.answer) for of, quote in quoted):
            continue  # what is quoted tells it apart from another answer there
        tells_apart = shared[rest] == 1 or not finding.reads_well
        if tells_apart and _bears_out(finding, line, question):
            told_lines.append(line if title == about else _titled(line, title, question, titles))
        elif not (told_lines and title == about and holds(told_lines[-1], finding.answer)):  # not twice
            told_lines.append(_quote(finding, titles))
            quoted.append((title, told_lines[-1]))
        about = title
    return " ".join(dict.fromkeys(told_lines))


def _up_to(answer: str, line: str) -> str:
    """Return the sentences of a line up to that which tells its answer, without one that the limit of words cuts."""
    written = [sentence.text for sentence in sentences(line)]
    last = next((at for at, sentence in enumerate(written) if holds(sentence, answer)), len(written))
    return " ".join((written if ends(line) else written[:-1])[: last + 1])


def _bears_out(finding: Finding, line: str, question: str) -> bool:
    """Return whether a line tells the answer of a finding, and no name or number that its passage has not.

    A wrong finding is worded as the question is: of "Richard Harris has the title role" the model makes that he plays
    the king, whom another sentence gives to somebody else. So names count against it that the passage has, but in other
    sentences, unless a pronoun may stand for them.
    """
    if line[:1].islower() or not holds(line, finding.answer):  # the rest of a line that the model broke
        return False
    known_stems = stems(f"{question} {finding.passage.indexed_text}")
    here = stems(f"{finding.passage.title} {finding.sentence}")
    text, pronoun = stems(finding.passage.text), _PRONOUN.search(finding.sentence)
    names = map(stems, names_and_numbers(line))
    return all(name <= known_stems and (pronoun or name & here or not name <= text) for name in names)


def _titled(line: str, title: str, question: str, titles: Sequence[str]) -> str:
    """Return a line with the passage's title, if neither it nor the question has what that says."""
    name, qualifier = split_title(title)
    if stems(title) <= stems(f"{line} {question}") or names_title(line, title, titles):
        return line
    return line.replace(name, title, 1) if qualifier and name in line else f"{title}: {line}"
