"""Turns the passage numbers that a language model writes into citations that hold."""

import re
from collections.abc import Mapping, Sequence

from polyqa.metrics.text import content_words, holds, sentences, without_marks
from polyqa.signatures import Interpretation, Passage

_MARK = re.compile(r"\[\d+(?:, ?\d+)*\]")
_ENDS = re.compile(r"[.!?]+[\"”’')\]]*$")


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
        number = re.search(r"\d+", interpretation.pid or "")
        position = int(number[0]) - 1 if number else -1
        named = passages[position] if 0 <= position < len(passages) else None
        sources = holding(passages, interpretation.answer)
        source = named if named in sources else sources[0] if sources else named
        cited.append(interpretation.model_copy(update={"pid": source.pid if source else None}))
    return cited


def holding(passages: Sequence[Passage], answer: str) -> list[Passage]:
    """Return the passages in which an answer stands, in their order."""
    return [passage for passage in passages if holds(passage.render(), answer, without_marks)]


def number_citations(interpretations: Sequence[Interpretation], passages: Sequence[Passage]) -> list[Interpretation]:
    """Replace passage ids by the numbers that the passages have in a prompt; ``None`` for those not shown."""
    numbers = {passage.pid: str(number) for number, passage in enumerate(passages, 1)}
    return [
        one.model_copy(update={"pid": numbers.get(one.pid) if one.pid is not None else None}) for one in interpretations
    ]


def with_marks(answer: str, interpretations: Sequence[Interpretation], passages: Sequence[Passage]) -> str:
    """Return a long answer whose sentences name their sources: "… on 4 May 1912 [2]."

    A sentence that tells a reading's answer gets the number of the passage that the reading cites; of several readings
    with that answer the one whose passage is nearest to the sentence's words. An answer with marks of its own (a
    language model may write them) is returned as it is, and so is one that tells no cited reading.

    Parameters
    ----------
    interpretations
        Cited, see `cite`.
    passages
        In the order in which they are numbered, from 1.
    """
    if _MARK.search(answer):
        return answer
    numbers = {passage.pid: number for number, passage in enumerate(passages, 1)}
    marked = answer
    for sentence in reversed(sentences(answer)):
        if found := _sources(sentence.text, interpretations, passages, numbers):
            told = _ENDS.sub("", sentence.text)
            place = answer.index(sentence.text, sentence.start) + len(told)
            marked = f"{marked[:place]} {''.join(f'[{number}]' for number in found)}{marked[place:]}"
    return marked


def _sources(
    sentence: str,
    interpretations: Sequence[Interpretation],
    passages: Sequence[Passage],
    numbers: Mapping[str, int],
) -> list[int]:
    own = set(content_words(sentence))
    nearest: dict[str, tuple[int, int]] = {}
    for one in interpretations:
        number = numbers.get(one.pid or "")
        if number is not None and holds(sentence, one.answer, without_marks):
            shared = len(own & set(content_words(passages[number - 1].render())))
            answer = without_marks(one.answer)
            nearest[answer] = max(nearest.get(answer, (-1, 0)), (shared, -number))
    return sorted({-number for _, number in nearest.values()})
