"""Turns the passage numbers that a language model writes into citations that hold."""

import re
from collections.abc import Sequence

from polyqa.metrics.text import holds, without_marks
from polyqa.signatures import Interpretation, Passage


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
