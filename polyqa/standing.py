"""Whether a question is answered, and what is said where it is not: the same words for all programs."""

from collections.abc import Sequence
from typing import Literal

from polyqa.base.text import counted
from polyqa.base.values import Interpretation, Passage
from polyqa.colbert_index import ColBERTIndex
from polyqa.metrics.text import sentence_at
from polyqa.reports.marks import places

Standing = Literal["answered", "unsure", "unanswered"]
SURE, LEAST = 0.5, 0.23
"""From which confidence on a reading answers the question, and below which it is not told, see `lab/confidence.py`."""
CLOSEST = 3
"""How many titles are named as the closest."""


def standing_of(confidence: Sequence[float | None], least: float = LEAST) -> Standing:
    """Return how a question stands whose readings are so sure; the surest one decides.

    A reading that cites no passage (``None``) is never sure, and never left out by ``least`` up to its default.
    """
    if not confidence:
        return "unanswered"
    surest = max(LEAST if sure is None else sure for sure in confidence)
    return "unanswered" if surest < least else "answered" if surest >= SURE else "unsure"


def unanswered(index: ColBERTIndex | None, passages: Sequence[Passage]) -> str:
    """Return what is said where no answer was found: the passages that come closest, and what to try.

    It does not say that the documents hold no answer: a small model misses some, those to "how" and "why" above all.

    Parameters
    ----------
    index
        What was searched; ``None`` if that is not known.
    passages
        The best first, as they are numbered.
    """
    numbers: dict[str, int] = {}
    for number, passage in enumerate(passages, 1):
        numbers.setdefault(passage.title or passage.place or passage.pid, number)
    closest = ", ".join(f"{title} [{number}]" for title, number in list(numbers.items())[:CLOSEST])
    where = f"“{index.name}” ({counted(len(index), 'passage')} searched)" if index else "the documents"
    return (
        f"No answer found in {where}. "
        + (f"Closest: {closest}. " if closest else "")
        + "Try other words, another index or another language model."
    )


def unsure(readings: Sequence[Interpretation], passages: Sequence[Passage], answer: str) -> str:
    """Return what is said where no reading is sure: the sentences that they stand in, else the program's ``answer``."""
    by_pid = {passage.pid: (number, passage) for number, passage in enumerate(passages, 1)}
    quoted: dict[str, None] = {}
    for reading in readings:
        number, passage = by_pid.get(reading.pid or "", (0, None))
        if passage is not None and (found := places(passage.text, reading.answer)):
            sentence = " ".join(sentence_at(passage.text, found[0][0]).text.split())
            quoted[f"{passage.title}: “{sentence}” [{number}]".removeprefix(": ")] = None
    return f"Not sure: the passages may mean something else. {' '.join(quoted) or answer}".strip()
