"""Training text that an optimizer copied: runs of words in instructions and long answers.

Whoever writes instructions from examples, such as GEPA's reflection, may copy an example into them. Its score then
rises on that example and on nothing else, and what was private in a training set leaves with the artifact. Demos are
training text on purpose, and are not looked at.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import dspy

from polyqa.evaluation.records import Record
from polyqa.metrics.gold import Question
from polyqa.metrics.text import SIGNS, UNSPACED

LEAST = 6
"""Words in a row that count as copied: fewer are shared by chance ("when was the first episode of").

Where a script puts no space between words, each character is a word.
"""
_LETTER = rf"(?:(?!{UNSPACED})[\w{SIGNS}])"
_WORD = re.compile(rf"{UNSPACED}|{_LETTER}+(?:['’]{_LETTER}+)*")


@dataclass(frozen=True)
class Copied:
    """A run of words that repeats training text.

    Attributes
    ----------
    where
        Whose text it is: ``instructions of clarify``, or ``answer to “…”``.
    words
        The run as it stands there.
    source
        The training question that has it in itself, a reading or an answer.
    """

    where: str
    words: str
    source: str


def copied_text(
    before: dspy.Module, after: dspy.Module, trainset: Sequence[Question], records: Iterable[Record]
) -> list[Copied]:
    """Return what a compiled program's instructions, and its long answers, repeat of its training questions.

    Parameters
    ----------
    before, after
        The program as it was and as it was compiled. What instructions said before is no copy.
    trainset
        Their questions, readings, short and long answers count.
    records
        What the compiled program answered. Words that stand in its question or in one of its passages are no copy.
    """
    sources = _sources(trainset)
    old = set(_grams(*(predictor.signature.instructions for _, predictor in before.named_predictors())))
    copies = [
        Copied(f"instructions of {name}", words, source)
        for name, predictor in after.named_predictors()
        for words, source in _runs(predictor.signature.instructions, sources, old)
    ]
    for record in records:
        answer, passages = record.answer or "", (passage.render() for passage in (*record.passages, *record.universe))
        if any(gram in sources for gram in _grams(answer)):  # passages are long, and most answers copy nothing
            runs = _runs(answer, sources, set(_grams(record.question, *passages)))
            copies += [Copied(f"answer to “{record.question}”", words, source) for words, source in runs]
    return copies


_Gram = tuple[str, ...]


def _sources(trainset: Sequence[Question]) -> dict[_Gram, str]:
    """Return in which training question each run of six words stands first."""
    sources: dict[_Gram, str] = {}
    for question in trainset:
        readings = (text for reading in question.readings for text in (reading.question, *reading.short_answers))
        for gram in _grams(question.question, *readings, *question.long_answers):
            sources.setdefault(gram, question.question)
    return sources


def _grams(*texts: str) -> Iterator[_Gram]:
    for text in texts:
        words = [match[0].casefold() for match in _WORD.finditer(text)]
        yield from (tuple(words[at : at + LEAST]) for at in range(len(words) - LEAST + 1))


def _runs(text: str, sources: dict[_Gram, str], allowed: set[_Gram]) -> Iterator[tuple[str, str]]:
    """Yield the longest runs of a text that stand in the sources and are not allowed, each with its first source."""
    places, grams = list(_WORD.finditer(text)), list(_grams(text))
    copied = [gram in sources and gram not in allowed for gram in grams]
    for is_copied, group in groupby(range(len(grams)), copied.__getitem__):
        if is_copied:
            run = list(group)
            words = text[places[run[0]].start() : places[run[-1] + LEAST - 1].end()]
            yield " ".join(words.split()), sources[grams[run[0]]]
