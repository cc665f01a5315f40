"""The span choice and the null rule of the official SQuAD 2.0 post-processing.

Source: `postprocess_qa_predictions` of the Hugging Face question-answering example, with
``version_2_with_negative=True``; ASQA's official scorer uses the same rule.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_N_BEST = 20  # start and end positions of a window that are combined (official)
_LONGEST = 30  # tokens of an answer (official)


@dataclass(frozen=True, slots=True)
class Window:
    """One window of a long context, as the model saw it.

    Attributes
    ----------
    start_logits, end_logits
        Shape (tokens,). Index 0 is the classification token, whose score is the null score.
    offsets
        Character offsets ``(start, end)`` per token; ``None`` for question and special tokens.
    """

    start_logits: NDArray[np.float32]
    end_logits: NDArray[np.float32]
    offsets: Sequence[tuple[int, int] | None]


@dataclass(frozen=True, slots=True)
class Span:
    """A candidate answer: its text, character offsets and score (sum of two logits, unbounded)."""

    text: str
    start: int
    end: int
    score: float


@dataclass(frozen=True, slots=True)
class Reading:
    """What the reader makes of one question and one context.

    Attributes
    ----------
    spans
        Candidate answers, best first, without overlap beyond the asked number.
    null_score
        Minimum over the windows of ``start_logits[0] + end_logits[0]``.
    """

    spans: tuple[Span, ...]
    null_score: float

    @property
    def margin(self) -> float:
        """Best span's score − null score; positive means answerable, ``-inf`` if there is no span."""
        return self.spans[0].score - self.null_score if self.spans else float("-inf")

    def answer(self, threshold: float = 0.0) -> str:
        """Return the best span, or ``""`` iff null − best > threshold (the official rule)."""
        return self.spans[0].text if self.spans and -self.margin <= threshold else ""


def read_windows(context: str, windows: Sequence[Window], *, keep: int = 1) -> Reading:
    """Choose the answer spans of one context from the logits of its windows.

    Parameters
    ----------
    context
        The text that the offsets point into.
    windows
        The windows, at least one.
    keep
        How many spans to return; a span that overlaps a better one is left out, so the first is
        the official answer and the rest are other places.
    """
    spans: list[Span] = []
    for window in windows:
        inside = np.array([offset is not None for offset in window.offsets])
        starts = np.argsort(-window.start_logits, kind="stable")[:_N_BEST]
        ends = np.argsort(-window.end_logits, kind="stable")[:_N_BEST]
        starts, ends = starts[inside[starts]], ends[inside[ends]]
        if not len(starts) or not len(ends):
            continue
        length = ends[None, :] - starts[:, None] + 1
        scores = window.start_logits[starts][:, None] + window.end_logits[ends][None, :]
        scores = np.where((length >= 1) & (length <= _LONGEST), scores, -np.inf)
        for flat in np.argsort(-scores, axis=None, kind="stable")[: _N_BEST if keep == 1 else None]:
            row, column = np.unravel_index(flat, scores.shape)
            if not np.isfinite(scores[row, column]):
                break
            first, last = window.offsets[int(starts[row])], window.offsets[int(ends[column])]
            if first is not None and last is not None and context[first[0] : last[1]]:
                span = Span(context[first[0] : last[1]], first[0], last[1], float(scores[row, column]))
                spans.append(span)
    spans.sort(key=lambda span: -span.score)
    chosen: list[Span] = []
    for span in spans:
        if len(chosen) == keep:
            break
        if all(span.end <= other.start or span.start >= other.end for other in chosen):
            chosen.append(span)
    null = min(float(window.start_logits[0] + window.end_logits[0]) for window in windows)
    return Reading(tuple(chosen), null)
