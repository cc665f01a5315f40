"""A judge without a language model: the span reader and the sentence encoder."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polyqa.base.values import Passage
from polyqa.models import Encoder, SpanReader

from .agreement import agree
from .judges import Claim

# Of 132 pairs of readings that two annotators of AmbigNQ's train set wrote for one question with one
# answer, 97% are at least this similar (all-MiniLM-L6-v2).
SAME_SUBJECT = 0.7
# Without answers to compare: here precision (0.65) and recall (0.69) of same-answer pairs balance.
SAME_QUESTION = 0.9


class EmbeddedJudge:
    """Judges by reading and by similarity; deterministic and offline.

    A passage supports a claim if the reader, asked its question, finds an answer there (official null
    rule) that says the same as the claimed one (`agreement.agree`). Two readings are the same if their
    answers agree so and their questions have a cosine of at least 0.7; where
    one has no answer, if their cosine is at least 0.9.

    It knows wordings, not the world: take its figures to compare systems, not as the share of true
    statements.

    Parameters
    ----------
    reader, encoder
        Their names are part of the judge's name.
    """

    def __init__(self, reader: SpanReader, encoder: Encoder) -> None:
        self.reader = reader
        self.encoder = encoder

    @property
    def name(self) -> str:
        """The names of the two models."""
        return f"{self.reader.name} + {self.encoder.name}"

    def covered(self, question: str, found: Sequence[Claim], wanted: Sequence[Claim]) -> list[bool]:
        """See `judges.Judge.covered`."""
        similarity = self._similarity(wanted, found)
        return [
            any(_same(one, other, float(similarity[row, column])) for column, other in enumerate(found))
            for row, one in enumerate(wanted)
        ]

    def supported(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[bool]:
        """See `judges.Judge.supported`; a claim without an answer is supported by any answer."""
        readings = self.reader.read([(claim.question, passage.render()) for claim, passage in pairs])
        verdicts = []
        for (claim, _), reading in zip(pairs, readings, strict=True):
            answer = reading.answer()
            verdicts.append(bool(answer) and (not claim.answers or agree(answer, claim.answers)))
        return verdicts

    def distinct(self, question: str, readings: Sequence[Claim]) -> list[bool]:
        """See `judges.Judge.distinct`."""
        similarity = self._similarity(readings, readings)
        distinct_rows: list[int] = []
        for row, one in enumerate(readings):
            if not any(_same(one, readings[column], float(similarity[row, column])) for column in distinct_rows):
                distinct_rows.append(row)
        return [row in distinct_rows for row in range(len(readings))]

    def _similarity(self, left: Sequence[Claim], right: Sequence[Claim]) -> NDArray[np.float32]:
        return self.encoder.similarity([one.question for one in left], [one.question for one in right])


def _same(one: Claim, other: Claim, similarity: float) -> bool:
    if not one.answers or not other.answers:
        return similarity >= SAME_QUESTION
    return similarity >= SAME_SUBJECT and any(agree(answer, other.answers) for answer in one.answers)
