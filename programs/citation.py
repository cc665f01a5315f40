"""Turns the passage numbers that a language model writes into citations that hold."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from polyqa.base.values import Interpretation, Passage
from polyqa.extractive.long_answers import OPENING
from polyqa.metrics.text import CLOSING, FULL_STOPS, content_words, holds, sentences, several, without_marks

LESS_CERTAIN = "Less certain:"
"""What follows it in a long answer is doubtful."""
_MARK = re.compile(r"\[\d+(?:, ?\d+)*\]")
# Behind a word there is none, as it may be code: argv[1]. Behind a year it is no code.
_FOOTNOTE = re.compile(r"(?:(?<=[.,;:!?)\]\"'’”»])|(?<=\b\d{4}))\[(?:\d{1,3}|[a-z]|citation needed)\]")
_NEAR = 12  # characters before a mark by which a passage is known that has the same one
_ENDS = re.compile(rf"\s*[.!?؟۔।॥…{FULL_STOPS}]+{CLOSING}$")
_NO_SPACE = re.compile("[\u3040-\u30ff\u3400-\u9fff）」』》]$")
"""Finds the end of a text in Chinese or Japanese, in which no space stands before a mark."""
_FEW_WORDS = 4  # may stand in a sentence by chance
_PASSAGES = 1_000  # whose words are kept: those of a batch come again


def cite(interpretations: Sequence[Interpretation], passages: Sequence[Passage]) -> list[Interpretation]:
    """Replace passage numbers by passage ids, and check them.

    Parameters
    ----------
    interpretations
        From a language model; ``pid`` is the number of a passage in the prompt, from 1, or missing.
    passages
        The passages of that prompt, in order.

    Returns
    -------
    list of Interpretation
        ``pid`` is the id of the passage that the model named, if the answer stands in it; else of the
        first passage in which the answer stands; else of the passage that the model named (an answer in
        other words than the passage's); else ``None``.
    """
    cited = []
    for interpretation in interpretations:
        number = re.search(r"\d{1,9}", interpretation.pid or "")
        position = int(number[0]) - 1 if number else -1
        named_passage = passages[position] if 0 <= position < len(passages) else None
        sources = holding(passages, interpretation.answer)
        source = named_passage if named_passage in sources else sources[0] if sources else named_passage
        cited.append(interpretation.model_copy(update={"pid": source.pid if source else None}))
    return cited


def holding(passages: Sequence[Passage], answer: str) -> list[Passage]:
    """Return the passages in which an answer stands, in their order.

    Of several answers in one (`text.several`), those in which all of them stand; if there is none, those in
    which one of them does.
    """
    parts = several(answer)
    counts = [sum(holds(passage.render(), part, without_marks) for part in parts) for passage in passages]
    parts_needed = len(parts) if len(parts) in counts else 1
    return [passage for passage, count in zip(passages, counts, strict=True) if parts and count >= parts_needed]


def number_citations(interpretations: Sequence[Interpretation], passages: Sequence[Passage]) -> list[Interpretation]:
    """Replace passage ids by the numbers that the passages have in a prompt; ``None`` for those not shown."""
    numbers = {passage.pid: str(number) for number, passage in enumerate(passages, 1)}
    return [reading.model_copy(update={"pid": numbers.get(reading.pid or "")}) for reading in interpretations]


def with_marks(answer: str, interpretations: Sequence[Interpretation], passages: Sequence[Passage]) -> str:
    """Return a long answer whose sentences name their sources: "… on 4 May 1912 [2]."

    A sentence that tells a reading's answer gets the number of the passage that the reading cites; of several readings
    with that answer the one whose passage is nearest to the sentence's words. Where a passage says the sentence itself
    (one of its sentences has all the content words, at least four), only readings that cite such a passage count, and
    without one the sentence gets the number of the first. What opens an answer (`long_answers.opening_of`) gets none.
    An answer with marks of its own (a language model may write them) is returned as it is; marks of footnotes that it
    has from the passages are none.

    Parameters
    ----------
    interpretations
        Cited, see `cite`.
    passages
        In the order in which they are numbered, from 1.
    """
    answer = without_footnotes(answer, passages)
    if has_marks(answer, passages):
        return answer
    numbers = {passage.pid: number for number, passage in enumerate(passages, 1)}
    marked = answer
    for sentence in reversed(sentences(answer)):
        statement = sentence.text.removeprefix(LESS_CERTAIN)
        if OPENING.match(statement):
            continue
        saying = _saying(statement, passages)
        theirs = [reading for reading in interpretations if numbers.get(reading.pid or "") in saying]
        numbered = _sources(statement, theirs, passages, numbers) or saying[:1]
        if numbered := numbered or _sources(statement, interpretations, passages, numbers):
            without_end = _ENDS.sub("", sentence.text)
            place = answer.index(sentence.text, sentence.start) + len(without_end)
            gap = "" if _NO_SPACE.search(marked[:place]) else " "
            marked = f"{marked[:place]}{gap}{''.join(f'[{number}]' for number in numbered)}{marked[place:]}"
    return marked


def unmarked(text: str) -> str:
    """Return a text without its marks: a figure in one is no answer.

    >>> unmarked("It has 14 moons [2].")
    'It has 14 moons .'
    """
    return _MARK.sub("", text)


def has_marks(answer: str, passages: Sequence[Passage]) -> bool:
    """Return whether an answer names its sources itself, by marks that are not of a passage's footnotes."""
    return any(not _stands(mark, passages) for mark in _MARK.finditer(answer))


def without_footnotes(text: str, passages: Sequence[Passage]) -> str:
    """Return a text without the marks of footnotes that it has from passages: they would be read as citations.

    >>> utah = Passage(pid="a", text="It was shot in Utah,[2] and in 2010[3] it came out.")
    >>> without_footnotes("It was shot in Utah,[2] and in 2010[3] it was seen.[1]", [utah])
    'It was shot in Utah, and in 2010 it was seen.[1]'
    """
    return _FOOTNOTE.sub(lambda mark: "" if _stands(mark, passages) else mark[0], text)


def _stands(mark: re.Match[str], passages: Sequence[Passage]) -> bool:
    """Return whether a mark stands so in a passage, behind the same words."""
    near = mark.string[max(0, mark.start() - _NEAR) : mark.end()]
    return any(near in " ".join(passage.text.split()) for passage in passages)


def _sources(
    sentence: str, interpretations: Sequence[Interpretation], passages: Sequence[Passage], numbers: Mapping[str, int]
) -> list[int]:
    words = set(content_words(sentence))
    nearest: dict[str, tuple[int, int]] = {}
    for reading in interpretations:
        number = numbers.get(reading.pid or "")
        answers = {
            without_marks(answer) for answer in several(reading.answer) if holds(sentence, answer, without_marks)
        }
        if number is not None and answers:
            shared = len(words & set(content_words(passages[number - 1].render())))
            nearest |= {answer: max(nearest.get(answer, (-1, 0)), (shared, -number)) for answer in answers}
    return sorted({-number for _, number in nearest.values()})


@lru_cache(_PASSAGES)
def _sentence_words(title: str, text: str) -> list[frozenset[str]]:
    """Return the content words of each sentence of a passage, each with those of the title."""
    title_words = content_words(title)
    return [frozenset(map(_owner, [*title_words, *content_words(sentence.text)])) for sentence in sentences(text)]


def _owner(word: str) -> str:
    """Return a word without a genitive's ending: sentences are told again with the title instead of "its"."""
    return word.removesuffix("'s").removesuffix("’s").rstrip("'’")


def _saying(sentence: str, passages: Sequence[Passage]) -> list[int]:
    """Return the numbers of the passages of which a sentence says what this one does."""
    words = set(map(_owner, content_words(sentence)))
    return [
        number
        for number, passage in enumerate(passages, 1)
        if len(words) >= _FEW_WORDS and any(words <= one for one in _sentence_words(passage.title, passage.text))
    ]
