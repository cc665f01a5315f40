"""The labels that CRAG's evaluator and Self-RAG's critic give."""

from collections.abc import Sequence
from enum import StrEnum


class Grade(StrEnum):
    """What CRAG's evaluator makes of one passage, and of all passages of a question (section 4.3)."""

    CORRECT = "Correct"
    AMBIGUOUS = "Ambiguous"
    INCORRECT = "Incorrect"

    @classmethod
    def of_all(cls, grades: Sequence["Grade"]) -> "Grade":
        """Return the action that the grades of the single passages call for.

        One ``Correct`` makes it ``Correct``; nothing but ``Incorrect``, also no passage at all, makes it
        ``Incorrect``; everything else is ``Ambiguous``.
        """
        if cls.CORRECT in grades:
            return cls.CORRECT
        return cls.INCORRECT if all(grade is cls.INCORRECT for grade in grades) else cls.AMBIGUOUS


class Support(StrEnum):
    """How much of a segment its passage supports: Self-RAG's IsSup (Table 1)."""

    FULLY = "Fully"
    PARTIALLY = "Partially"
    NO = "No"
