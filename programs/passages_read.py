"""Answers copied out of passages, by a language model that was trained to copy them.

It reads a passage a call and writes an answer in any case, also where it would rather write that there is none: how
likely it found that tells how far the answer can be trusted.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import dspy

from polyqa.base.values import Passage
from polyqa.lm.probabilities import probability_of_first
from polyqa.metrics.agreement import agree
from polyqa.metrics.text import UNSPACED, sentence_at, stems
from polyqa.signatures import ReadPassage

from .findings import Finding
from .knn import KNNPredict
from .steps import ask, drive

NONE = "none"
# What a passage lists beyond three answers is mostly something else: the members of a band for its name, households for
# people. On development questions 1 of 20 answers behind the first one was right in such passages (`lab/log.md`).
_MOST = 3
# An answer a line, one more than are taken, none of them "none".
_GRAMMAR = r"""root ::= first rest ("\n" line){0,3}
first ::= [^n\n] | "n" ([^o\n] | "o" ([^n\n] | "n" [^e\n]))
rest ::= [^\n]{0,120}
line ::= [^\n]{1,120}
"""
# In Chinese, Japanese, Thai and the like no space stands between words.
_BEGIN = rf"(?:(?<!\w)|(?<={UNSPACED})|(?={UNSPACED}))"
_END = rf"(?:(?!\w)|(?={UNSPACED})|(?<={UNSPACED}))"
READING: Mapping[str, Any] = {
    "demos": [],
    "config": {"metadata": {"lora": "read-passage", "grammar": _GRAMMAR}},
}
"""Settings of the call `ReadPassage`, for a language model that has weights for it."""
JUDGED = 0.97
"""The least trust of such a model that is enough: with the weights before they were trained further, of 83 questions
labelled by hand, 47 of 57 above 0.95 were good and 3 wrong, of the others 16 of 26 and 7; as many are above this one
with those of today (`lab/log.md`).
"""


def shown(passage: Passage) -> str:
    """Return a passage as it was shown in training: its title and its text, on one line."""
    parts = (" ".join(part.split()) for part in (passage.title, passage.text))
    return " | ".join(part for part in parts if part)


def answers_in(passage: Passage, reply: str, question: str) -> list[tuple[int, str]]:
    r"""Return the answers of a reply that stand in the passage, each with its first character there.

    Of several places it is the one whose sentence shares most words with the question. Of more than three answers it is
    the first.

    >>> answers_in(Passage(pid="1", text="In 1912 she sank. It is a film of 1912."), "1912\nMay", "When did she sink?")
    [(3, '1912')]
    """
    answers, asked_stems = [], stems(question)
    for line in dict.fromkeys(line.strip() for line in reply.splitlines()):
        words = r"\s+".join(map(re.escape, line.split()))
        places = list(re.finditer(f"{_BEGIN}{words}{_END}", passage.text)) if words and line != NONE else []
        if places:
            best = max(places, key=lambda at: len(asked_stems & stems(sentence_at(passage.text, at.start()).text)))
            answers.append((best.start(), best.group()))
    return answers if len(answers) <= _MOST else answers[:1]


def supported(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings with the number of other passages in which the same answer was found."""
    pids = [{other.passage.pid for other in findings if agree(other.answer, [one.answer])} for one in findings]
    return [replace(one, supporters=len(same - {one.passage.pid})) for one, same in zip(findings, pids, strict=True)]


def trust_in_questions(
    questions: Sequence[tuple[str, str, Passage]], lm: dspy.BaseLM, *, step: Callable[[], None] = lambda: None
) -> list[float]:
    """Return for each question how likely its passage answers it, and with its answer; 0 where with another one.

    Parameters
    ----------
    questions
        Questions, each with an answer and the passage that it was made of.
    lm
        Has weights for `polyqa.signatures.ReadPassage` (``lm.reads_passages``), as ``local``. It reads one call with
        them at a time.
    step
        Called after each question.
    """
    read = KNNPredict(ReadPassage, probabilities=True)
    trust = []
    for question, answer, passage in questions:
        with dspy.context(lm=lm):
            reply = drive(ask(read, question=question, passage=shown(passage), **READING))
        same = any(agree(copied, [answer]) for _, copied in answers_in(passage, reply.answers, question))
        trust.append(1 - probability_of_first(reply, NONE) if same else 0.0)
        step()
    return trust
