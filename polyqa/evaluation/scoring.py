"""Scores one answer, or many, with every metric that its question allows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import isnan
from statistics import fmean

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Interpretation, Passage, Sources
from polyqa.metrics import grounded
from polyqa.metrics.alce import alce_text
from polyqa.metrics.answer_coverage import answer_coverage
from polyqa.metrics.answer_f1 import answer_f1
from polyqa.metrics.conflicting_evidence import conflicts_shown, noise_cited
from polyqa.metrics.edit_f1 import edit_f1
from polyqa.metrics.exact_match import exact_match
from polyqa.metrics.exact_presence import exact_presence
from polyqa.metrics.gold import Question
from polyqa.metrics.judges import Judge, judge_readings
from polyqa.metrics.long_form import score_long_answers
from polyqa.metrics.mrecall import mrecall
from polyqa.metrics.optimizing import f1_of_readings, short_answers
from polyqa.metrics.strict_exact_match import strict_exact_match, wrong_answers_told
from polyqa.models import SpanReader

SUFFICIENT = 5  # VERDICT's Sufficient%: from how many distinct readings on
OF_READINGS = frozenset({"readings", "f1_answer", "answer_f1", "edit_f1"})
"""Scores that would be 0 for a system only because it gives no readings; it is not scored by them."""


@dataclass(frozen=True)
class Output:
    """What a system gave for one question; ``answer`` is ``None`` for systems of short answers only.

    ``universe`` are all passages that it retrieved, where it gives fewer, or shorter ones, with its answer; ``sources``
    say for each interpretation which passages back it; ``question`` is what was asked, where a file of outputs says so.
    """

    answer: str | None
    interpretations: Sequence[Interpretation] = field(default_factory=tuple)
    passages: Sequence[Passage] = field(default_factory=tuple)
    universe: Sequence[Passage] = field(default_factory=tuple)
    sources: Sequence[Sources] = field(default_factory=tuple)
    question: str = ""


class JudgeError(PolyqaError):
    """The judge gave no verdict on a question; the cause is the error that it raised."""


Scored = dict[str, float] | JudgeError  # scores by name, or why there are none


class Scorer:
    """Scores outputs.

    Parameters
    ----------
    reader
        The reader of Disambig-F1.
    judge
        The judge of the grounded metrics; without one they are left out.
    alce
        Whether to score what ALCE scores (first line, citations stripped) instead of the whole answer.
    """

    def __init__(self, reader: SpanReader, judge: Judge | None = None, *, alce: bool = False) -> None:
        self.reader = reader
        self.judge = judge
        self.alce = alce

    def score(self, question: Question, output: Output) -> dict[str, float]:
        """Return the scores of an output, by name; a score that the question does not allow is absent.

        Returns
        -------
        dict
            ``disambig_f1``, ``str_em`` in [0, 1] and ``length``; ``rouge_l`` with reference answers; ``f1_answer``,
            ``answer_f1``, ``readings`` from the interpretations; ``edit_f1`` if every annotator has several readings;
            ``exact_match`` (of the first interpretation's answer, or of the answer if there is none) if the question is
            plain;
            ``mrecall@5`` and ``answer_coverage@5`` of the given passages by STR-EM's match, 0 for a system that
            retrieved and gives none; parts and wholes of the grounded ratios, ``sufficient``;
            ``strict_exact_match`` and ``conflicts_shown`` of a question with documents or wrong answers,
            ``noise_cited`` of one with documents, ``wrong_told`` of one with wrong answers.

        Raises
        ------
        JudgeError
            If the judge fails.
        """
        (scores,) = self.score_each([question], [output])
        if isinstance(scores, JudgeError):
            raise scores
        return scores

    def score_each(self, questions: Sequence[Question], outputs: Sequence[Output]) -> Iterator[Scored]:
        """Yield what `score` returns, and where the judge fails its error: the other outputs have their scores.

        Questions and outputs are of the same length and order; the reader reads all of them in batches.
        """
        if self.alce:
            outputs = [one if one.answer is None else replace(one, answer=alce_text(one.answer)) for one in outputs]
        long_form = iter(self._long_form(questions, outputs))
        for question, output in zip(questions, outputs, strict=True):
            scores = next(long_form) if output.answer is not None else {}
            try:
                grounded_scores = self._grounded(question, output)
            except JudgeError as error:
                yield error
            else:
                scores |= _short_form(question, output) | _retrieval(question, output)
                yield scores | _conflicting(question, output) | grounded_scores

    def _long_form(self, questions: Sequence[Question], outputs: Sequence[Output]) -> list[dict[str, float]]:
        pairs = [
            (question, output.answer)
            for question, output in zip(questions, outputs, strict=True)
            if output.answer is not None
        ]
        return [
            {"disambig_f1": one.disambig.f1, "str_em": one.str_em, "length": float(one.length)}
            | ({} if one.rouge_l is None else {"rouge_l": one.rouge_l})
            for one in score_long_answers([answer for _, answer in pairs], [one for one, _ in pairs], self.reader)
        ]

    def _grounded(self, question: Question, output: Output) -> dict[str, float]:
        if self.judge is None or not (output.passages or output.universe):
            return {}
        try:
            judgement = judge_readings(question, output.interpretations, output.passages, self.judge, output.universe)
        except Exception as error:  # a server's, a parser's: what a language model as the judge can raise
            raise JudgeError(f"The judge {self.judge.name} failed on question {question.id!r}: {error}") from error
        scores: dict[str, float] = {"sufficient": judgement.distinct >= SUFFICIENT}
        for name, ratio in {
            "g_precision": grounded.grounded_precision(judgement),
            "g_recall": grounded.grounded_recall(judgement),
            "gold_recall": grounded.gold_recall(judgement),
        }.items():
            scores |= {f"{name}_part": ratio.part, f"{name}_whole": ratio.whole}
        return {name: float(value) for name, value in scores.items()}


def _short_form(question: Question, output: Output) -> dict[str, float]:
    interpretations = output.interpretations
    scores = {"readings": float(len(interpretations)), "f1_answer": f1_of_readings(interpretations, question)}
    # Readings weigh the mean of a corpus: one that lists several answers counts once, with their mean.
    answer_scores = [fmean(answer_f1(short_answers([one]), question.answers)) for one in interpretations]
    if answer_scores:
        scores["answer_f1"] = fmean(answer_scores)
    if all(len(readings) > 1 for readings in question.annotations):
        scores["edit_f1"] = edit_f1(question.question, interpretations, question.annotations)
    if len(question.readings) == 1:
        scores["exact_match"] = exact_match(
            interpretations[0].answer if interpretations else output.answer or "", question.readings[0].short_answers
        )
    return scores


def _conflicting(question: Question, output: Output) -> dict[str, float]:
    if not (question.wrong_answers or question.documents):
        return {}
    interpretations, answers, wrong = output.interpretations, question.answers, question.wrong_answers
    claimed_answers = short_answers(interpretations) or [output.answer or ""]
    pids = [one.pid for one in interpretations if one.pid]
    scores = {
        "strict_exact_match": strict_exact_match(claimed_answers, answers, wrong),
        "conflicts_shown": conflicts_shown(interpretations, output.sources, answers, wrong),
    }
    if question.documents:
        scores["noise_cited"] = noise_cited(pids, question.documents)
    if wrong:
        scores["wrong_told"] = len(wrong_answers_told(claimed_answers, answers, wrong)) / len(wrong)
    return {name: value for name, value in scores.items() if not isnan(value)}


def _retrieval(question: Question, output: Output) -> dict[str, float]:
    if not (output.passages or output.universe):
        return {}
    texts = [passage.render() for passage in output.passages]
    return {
        "mrecall@5": mrecall(question.answers, texts, 5, match=exact_presence),
        "answer_coverage@5": answer_coverage(question.answers, texts, 5, match=exact_presence),
    }
