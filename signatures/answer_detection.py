"""SIXPAQ's first step, answer detection (section 3.1.2): what in a passage may be asked for."""

import dspy

from .lenient import Answers


class DetectAnswers(dspy.Signature):
    """List the short spans of the passage that a person might ask for.

    Good spans are dates and years, names of people and places, numbers with what they count, names of
    works and things. Copy each span letter by letter, as short as it can be understood, and leave out
    the title of the passage itself. At most eight, the most telling first.
    """

    passage: str = dspy.InputField(desc="title | text")
    answers: Answers = dspy.OutputField(desc="short spans copied from the passage, [] if there is none")
