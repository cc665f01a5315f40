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
"""Of the logistic curve from the reader's margin to the share of right readings; `benchmarks.confidence` fits them."""


def confidence(
    readings: Sequence[Interpretation], passages: Sequence[Passage], reader: SpanReader
) -> list[float | None]:
    """Return how likely each reading is right, in [0, 1]; ``None`` for one without a passage.

    The embedded reader is asked the disambiguated question of the passage that is cited, see `margins`. The curve from
    margins to shares was fitted on training questions of `homonyms`, with the embedded engine's readings.
    """
    found = margins(readings, passages, reader)
    return [None if margin is None else _share(margin) for margin in found]


def _share(margin: float) -> float:
    return 0.0 if margin == -inf else 1 / (1 + exp(-(SLOPE * margin + OFFSET)))


def margins(readings: Sequence[Interpretation], passages: Sequence[Passage], reader: SpanReader) -> list[float | None]:
    """Return by how much the reader prefers each reading's answer to there being none.

    That is the score of the span that is the answer, above the null score; ``-inf`` if none of the best `SPANS` spans
    is the answer, and ``None`` for a reading without a passage.
    """
    texts = {passage.pid: passage.indexed_text for passage in passages}
    cited = [(one, texts[one.pid]) for one in readings if one.pid in texts]
    found = iter(reader.read([(one.question, text) for one, text in cited], keep=SPANS))
    return [_margin(one.answer, next(found)) if one.pid in texts else None for one in readings]


def _margin(answer: str, reading: Reading) -> float:
    wanted = [normalize_answer(part) for part in (several(answer) or [answer])]
    for span in reading.spans:
        said = normalize_answer(span.text)
        if said and any(said in one or one in said for one in wanted if one):
            return span.score - reading.null_score
    return -inf
