"""Judge of repetition, VERDICT's I_D (section 5.1.1, Figure 9); here numbers are returned, not the texts."""

import dspy

from .lenient import Numbers


class FindDistinct(dspy.Signature):
    """Say which of the readings to keep so that none is left that nearly repeats another.

    Of readings that ask for the same thing in other words keep the first.
    """

    question: str = dspy.InputField(desc="the ambiguous question")
    readings: str = dspy.InputField(desc="numbered readings of it")
    kept: Numbers = dspy.OutputField(desc="numbers of the readings to keep")
