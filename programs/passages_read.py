"""Answers copied out of passages, by a language model that was trained to copy them.

It reads a passage a call and writes an answer in any case, also where it would rather write that there is none: how
likely it found that tells how far the answer can be trusted.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from polyqa.base.values import Passage
from polyqa.metrics.agreement import agree
from polyqa.metrics.text import sentence_at, stems

from .findings import Finding

NONE = "none"
# An answer a line, at most eight, none of them "none".
_GRAMMAR = r"""root ::= first rest ("\n" line){0,7}
first ::= [^n\n] | "n" ([^o\n] | "o" ([^n\n] | "n" [^e\n]))
rest ::= [^\n]{0,120}
line ::= [^\n]{1,120}
"""
READING: Mapping[str, Any] = {
    "demos": [],
    "config": {"metadata": {"lora": "read-passage", "grammar": _GRAMMAR}},
}
"""Settings of the call `ReadPassage`, for a language model that has weights for it."""


def shown(passage: Passage) -> str:
    """Return a passage as it was shown in training: its title and its text, on one line."""
    parts = (" ".join(part.split()) for part in (passage.title, passage.text))
    return " | ".join(part for part in parts if part)


def answers_in(passage: Passage, reply: str, question: str) -> list[tuple[int, str]]:
    r"""Return the answers of a reply that stand in the passage, each with its first character there.

    Of several places it is the one whose sentence shares most words with the question.

    >>> answers_in(Passage(pid="1", text="In 1912 she sank. It is a film of 1912."), "1912\nMay", "When did she sink?")
    [(3, '1912')]
    """
    answers, asked_stems = [], stems(question)
    for line in dict.fromkeys(line.strip() for line in reply.splitlines()):
        words = r"\s+".join(map(re.escape, line.split()))
        places = list(re.finditer(rf"(?<!\w){words}(?!\w)", passage.text)) if words and line != NONE else []
        if places:
            best = max(places, key=lambda at: len(asked_stems & stems(sentence_at(passage.text, at.start()).text)))
            answers.append((best.start(), best.group()))
    return answers


def supported(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings with the number of other passages in which the same answer was found."""
    pids = [{other.passage.pid for other in findings if agree(other.answer, [one.answer])} for one in findings]
    return [replace(one, supporters=len(same - {one.passage.pid})) for one, same in zip(findings, pids, strict=True)]
