"""Retrieval-augmented clarification (RAC): Tree of Clarifications, section 3.1; DIVA's I_e
(equation 1, Table 10).
"""

import dspy

from .lenient import Interpretations


class ExtractInterpretations(dspy.Signature):
    """Find every reading of the question that the passages answer.

    Use only what the passages say. For each reading write a question of its own that keeps the
    wording of the original and adds what settles it (the year, the place, the kind of thing, the
    meaning of the verb), a short answer copied from a passage, and the number of that passage.
    Leave out readings that no passage answers; never give the same reading twice.
    """

    passages: str = dspy.InputField(desc="numbered passages, title | text")
    question: str = dspy.InputField(desc="a question that may be ambiguous")
    interpretations: Interpretations = dspy.OutputField(desc="as many distinct readings as the passages answer")
