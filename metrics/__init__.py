"""Metrics, one file each; each docstring gives the formula, its symbols and the edge cases."""

from .answer_coverage import answer_coverage
from .answer_match import covered_answers, has_answer
from .exact_presence import exact_presence
from .mrecall import mrecall
from .text import normalize_answer

__all__ = [
    "answer_coverage",
    "covered_answers",
    "exact_presence",
    "has_answer",
    "mrecall",
    "normalize_answer",
]
