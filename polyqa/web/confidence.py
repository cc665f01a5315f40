"""How sure one can be of a reading: what the embedded reader makes of its passage."""

from collections.abc import Sequence
from math import exp

from polyqa.embedded_models import SpanReader
from polyqa.embedded_models.spans import Reading
from polyqa.metrics.text import normalize_answer, several
from polyqa.signatures import Interpretation, Passage

_SPANS = 5
_SLOPE, _OFFSET = 1.0, 0.0


def confidence(
    readings: Sequence[Interpretation], passages: Sequence[Passage], reader: SpanReader
) -> list[float | None]:
    """Return how likely each reading is right, in [0, 1]; ``None`` for one without a passage.

    The reader is asked the disambiguated question of the passage that is cited. What counts is the score of the span
    that is the answer above the score of there being none: 0 if none of the best five spans is the answer.
    """
    texts = {passage.pid: passage.indexed_text for passage in passages}
    cited = [(one, texts[one.pid]) for one in readings if one.pid in texts]
    found = iter(reader.read([(one.question, text) for one, text in cited], keep=_SPANS))
    return [_sure(one.answer, next(found)) if one.pid in texts else None for one in readings]


def _sure(answer: str, reading: Reading) -> float:
    wanted = [normalize_answer(part) for part in (several(answer) or [answer])]
    for span in reading.spans:
        said = normalize_answer(span.text)
        if said and any(said in one or one in said for one in wanted if one):
            return 1 / (1 + exp(-(_SLOPE * (span.score - reading.null_score) + _OFFSET)))
    return 0.0
