"""The evidence for an answer: what the reader finds in passages, how well supported, and what of it tells something."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, takewhile

from polyqa.metrics.text import holds, normalize_short, normalize_words, sentence_at
from polyqa.models import Encoder, Reader, Span, Writer

from .answer_kinds import answer_kind, fits_kind
from .answers import whole_answer, within_a_sentence
from .prompt import PromptPassage
from .titles import about_another, are_namesakes

SPANS = 3
"""How many answers are taken from one passage."""
WORTH_TELLING = 0.35
"""An answer beside the best one is told if its support is at least this part of the best one's."""


@dataclass(frozen=True)
class Models:
    """The sentence encoder, the span reader and the writer of questions.

    They load on first use and remember what they saw.
    """

    encoder: Encoder
    reader: Reader
    writer: Writer = field(default_factory=Writer)


# Logistic regression over the answers to questions of six corpora that count alike: training questions of homonyms,
# ASQA, AmbigNQ and TimeQA, half of RAMDocs, SQuAD (label: the answer is one of the gold answers); the log-odds are
# stretched so that a share of the best support means something. What each corpus gives that is
# left out stands in `lab/log.md`.
_BIAS = -7.4
_SCORE = 0.395  # the reader's, of the span: sum of two logits
_SIMILARITY = 3.88  # cosine of question and passage
_SENTENCE = 1.68  # cosine of question and the span's sentence, with the title before it


@dataclass(frozen=True)
class Evidence:
    """An answer that a passage gives to a question.

    Attributes
    ----------
    passage, span
        Where the answer stands; offsets are into the passage's text.
    answer
        The span made a whole answer, see `answers.whole_answer`.
    support
        How sure it is that this is an answer to the question, in (0, 1).
    """

    passage: PromptPassage
    span: Span
    answer: str
    support: float


def gather(question: str, passages: Sequence[PromptPassage], models: Models, *, keep: int = SPANS) -> list[Evidence]:
    """Return the answers of all passages to a question, best supported first; ``keep`` of each passage."""
    if not passages:
        return []
    readings = [
        [within_a_sentence(question, passage.text, span) for span in reading.spans]
        for passage, reading in zip(
            passages, models.reader.read([(question, passage.text) for passage in passages], keep=keep), strict=True
        )
    ]
    titled_texts = [f"{passage.title} {passage.text}".strip() for passage in passages]
    stated = [
        [f"{passage.title}: {sentence_at(passage.text, span.start).text}" for span in spans]
        for passage, spans in zip(passages, readings, strict=True)
    ]
    texts = list(dict.fromkeys([*titled_texts, *chain.from_iterable(stated)]))
    near = dict(zip(texts, map(float, models.encoder.similarity([question], texts)[0]), strict=True))
    gathered = []
    for passage, text, spans, span_sentences in zip(passages, titled_texts, readings, stated, strict=True):
        for span, sentence in zip(spans, span_sentences, strict=True):
            score = _BIAS + (_SCORE * span.score + _SIMILARITY * near[text] + _SENTENCE * near[sentence])
            answer = whole_answer(question, passage.text, span)
            gathered.append(Evidence(passage, span, answer, 1 / (1 + math.exp(-score))))
    return sorted(gathered, key=lambda evidence: -evidence.support)


def best_support(question: str, passages: Sequence[PromptPassage], models: Models) -> float:
    """Return the support of the best answer that passages give, in [0, 1)."""
    gathered = gather(question, passages, models)
    return gathered[0].support if gathered else 0.0


def same_answer(left: str, right: str) -> bool:
    """Return whether one of two answers holds the other."""
    return holds(left, right, normalize_short) or holds(right, left, normalize_short)


def says_something(answer: str, question: str) -> bool:
    """Return whether an answer has words, and not only some that stand in the question."""
    return bool(normalize_words(answer)) and not holds(question, answer)


def telling(question: str, evidence: Iterable[Evidence]) -> list[Evidence]:
    """Return the evidence whose answers are of the kind that is asked for, say something, and are about what it names.

    A passage about *Terra 1* says nothing of "Terra 2", unless it mentions that. What is better supported than all of
    that kind stays, but for numbers: an answer to who may be a role without a capital, "the treasurer".

    Parameters
    ----------
    evidence
        The best supported first.
    """
    kind = answer_kind(question)
    saying = [one for one in evidence if says_something(one.answer, question)]
    relevant = [one for one in saying if not about_another(question, one.passage)]
    fitting = [one for one in relevant if fits_kind(one.answer, kind)]
    if kind == "number":
        return fitting
    return [*takewhile(lambda one: not fits_kind(one.answer, kind), relevant), *fitting]


def distinct(evidence: Iterable[Evidence], *, apart: str | None = None) -> list[Evidence]:
    """Return the first evidence of each answer; what namesakes have in common counts once for each of them.

    Parameters
    ----------
    apart
        The question that `titles.are_namesakes` judges by; without it an answer counts once.
    """
    firsts: list[Evidence] = []
    for candidate in evidence:
        titles = [other.passage.title for other in firsts if same_answer(candidate.answer, other.answer)]
        if all(apart and are_namesakes(apart, candidate.passage.title, title) for title in titles):
            firsts.append(candidate)
    return firsts
