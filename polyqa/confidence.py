"""How sure one can be of a reading: what the embedded reader makes of its passage."""

from collections.abc import Sequence
from math import exp, inf

from polyqa.base.values import Interpretation, Passage
from polyqa.metrics.text import normalize_answer, several
from polyqa.models import SpanReader
from polyqa.models.spans import Reading

SPANS = 5
"""How many spans of a passage are looked at."""
SLOPE, OFFSET = 0.225, 0.078
"""Of the logistic curve from the reader's margin to the share of right readings; `lab/confidence.py` fitted them."""


def confidence(
    readings: Sequence[Interpretation], passages: Sequence[Passage], reader: SpanReader
) -> list[float | None]:
    """Return how likely each reading is right, in [0, 1]; ``None`` for one without a passage.

    The embedded reader is asked the disambiguated question of the passage that is cited, see `margins`. The curve from
    margins to shares was fitted on training questions of `homonyms`, with the embedded engine's readings.
    """
    return [None if margin is None else _share(margin) for margin in margins(readings, passages, reader)]


def _share(margin: float) -> float:
    return 0.0 if margin == -inf else 1 / (1 + exp(-(SLOPE * margin + OFFSET)))


def margins(readings: Sequence[Interpretation], passages: Sequence[Passage], reader: SpanReader) -> list[float | None]:
    """Return by how much the reader prefers each reading's answer to there being none.

    That is the score of the span that is the answer, above the null score; ``-inf`` if none of the best `SPANS` spans
    is the answer, and ``None`` for a reading without a passage.
    """
    texts = {passage.pid: passage.indexed_text for passage in passages}
    asked = [(reading.question, texts[reading.pid]) for reading in readings if reading.pid in texts]
    spans = iter(reader.read(asked, keep=SPANS))
    return [_margin(reading.answer, next(spans)) if reading.pid in texts else None for reading in readings]


def _margin(answer: str, reading: Reading) -> float:
    wanted = [normalize_answer(part) for part in (several(answer) or [answer])]
    for span in reading.spans:
        text = normalize_answer(span.text)
        if text and any(text in answer or answer in text for answer in wanted if answer):
            return span.score - reading.null_score
    return -inf
