"""Disambig-F1: whether a reader finds every reading's short answer in the long answer."""

from collections.abc import Sequence
from dataclasses import dataclass

from polyqa.models import SpanReader

from .exact_match import exact_match
from .gold import Reading
from .text import check_lists
from .token_f1 import token_f1


@dataclass(frozen=True, slots=True)
class DisambigScore:
    """What a reader found in one long answer.

    Attributes
    ----------
    f1
        Disambig-F1 (the official script's QA-F1), in [0, 1].
    em
        The same with exact match (QA-EM).
    hit
        1.0 if every reading's answer was matched exactly (QA-Hit).
    answers
        What the reader answered to each reading, ``""`` for no answer.
    """

    f1: float
    em: float
    hit: float
    answers: tuple[str, ...]


def disambig_f1(answers: Sequence[str], gold: Sequence[Sequence[str]]) -> DisambigScore:
    """Score what a reader found in a long answer.

        D-F1 = (1/n) Σ_i max over aliases a of reading i of F1(ŷ_i, a)

    where ŷ_i is the reader's answer to the i-th disambiguated question, asked of the long answer.

    Parameters
    ----------
    answers
        The reader's answers ŷ, one per reading; ``""`` where it found none.
    gold
        One list of aliases per reading, n ≥ 1.

    Raises
    ------
    ValueError
        If there is no reading, or the lengths differ.

    Notes
    -----
    An empty answer scores 0 against an alias that is not empty. The corpus value is the mean over
    questions (Stelmakh et al., 2022). Figures of different readers are not comparable.
    """
    check_lists(answers)
    check_lists(gold, 2)
    if not gold:
        raise ValueError("Disambig-F1 of a question without readings is undefined")
    pairs = list(zip(answers, gold, strict=True))
    f1 = sum(token_f1(answer, aliases) for answer, aliases in pairs) / len(pairs)
    matched = [exact_match(answer, aliases) for answer, aliases in pairs]
    return DisambigScore(f1, sum(matched) / len(matched), float(all(matched)), tuple(answers))


def score_disambig_f1(
    predictions: Sequence[str], readings: Sequence[Sequence[Reading]], reader: SpanReader
) -> list[DisambigScore]:
    """Score many long answers; the reader reads all (disambiguated question, long answer) pairs in batches.

    Parameters
    ----------
    predictions
        Long answers, shape (questions,).
    readings
        The gold readings of each question.
    reader
        Its name belongs beside every figure.
    """
    pairs = [(reading.question, text) for text, gold in zip(predictions, readings, strict=True) for reading in gold]
    answers = iter([reading.answer() for reading in reader.read(pairs)])
    return [disambig_f1([next(answers) for _ in gold], [one.short_answers for one in gold]) for gold in readings]
