"""Pseudo-interpretations from the corpus: what a question can mean is among the questions that were made from it."""

from collections.abc import Sequence

from polyqa.metrics.agreement import agree
from polyqa.models import Encoder
from polyqa.questions import FoundQuestion

from .consolidation import consolidate

_NEAR = 0.75
"""A generated question is taken if it is at least this share as near as the nearest."""


def from_questions(found: Sequence[FoundQuestion], encoder: Encoder, *, most: int) -> list[str]:
    """Return generated questions as the pseudo-interpretations of a question, nearest first.

    What DIVA (equation 3) asks of a language model's knowledge of the world is here taken from the passages: of the
    generated questions (SIXPAQ, section 3.1) those with distinct answers, of like ones the medoid (VERDICT,
    section 4.2). None of the papers does this.

    Parameters
    ----------
    found
        Generated questions, nearest to the asked one first.
    encoder
        Embeds each question with its answer.
    most
        How many are returned at most.
    """
    kept: list[FoundQuestion] = []
    told: list[str] = []
    for one in found:
        if one.score < _NEAR * found[0].score:
            break
        if not all(agree(answer, told) for answer in one.answers):
            kept.append(one)
            told.extend(one.answers)
    clusters = consolidate(encoder.encode([f"{one.question} {one.answers[0]}" for one in kept]))
    # A question of its own is a reading of its own: unlike passages that were asked, these hold no guesses.
    chosen = sorted([*(cluster[0] for cluster in clusters.clusters), *clusters.outliers])
    return [kept[place].question for place in chosen][:most]
