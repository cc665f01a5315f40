"""ASQA's scores of long answers, many at once."""

from collections.abc import Sequence
from dataclasses import dataclass

from polyqa.models import SpanReader

from .disambig_f1 import DisambigScore, score_disambig_f1
from .dr import dr
from .gold import Question
from .length import length
from .rouge_l import rouge_l
from .str_em import str_em


@dataclass(frozen=True, slots=True)
class LongFormScore:
    """The scores of one long answer, each in [0, 1] but the length.

    Attributes
    ----------
    disambig
        Disambig-F1 and what the reader found.
    rouge_l
        ``None`` if the question has no reference answer.
    str_em
        The share of readings whose answer stands in the text.
    length
        In white-space tokens.
    """

    disambig: DisambigScore
    rouge_l: float | None
    str_em: float
    length: int

    @property
    def dr(self) -> float | None:
        """The DR of this one answer, for optimizers; a corpus has its own, see `dr.corpus_dr`."""
        return None if self.rouge_l is None else dr(self.disambig.f1, self.rouge_l)


def score_long_answers(
    predictions: Sequence[str], questions: Sequence[Question], reader: SpanReader
) -> list[LongFormScore]:
    """Score long answers against their questions; the reader reads all of them in batches.

    Parameters
    ----------
    predictions, questions
        Of the same length, in the same order. An answer that a program failed to give is ``""``.
    reader
        The reader of Disambig-F1.
    """
    disambig_scores = score_disambig_f1(predictions, [question.readings for question in questions], reader)
    return [
        LongFormScore(
            disambig=disambig,
            rouge_l=rouge_l(text, question.long_answers) if question.long_answers else None,
            str_em=str_em(text, question.answers),
            length=length(text),
        )
        for text, question, disambig in zip(predictions, questions, disambig_scores, strict=True)
    ]
