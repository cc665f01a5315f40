"""DIVA's retrieval verification, I_v (section 3.3, equation 7, Table 9). The passages come first:
they are the same for all interpretations of a question, so a provider can cache the prefix.
"""

import dspy

from .lenient import YesNo


class VerifyInterpretation(dspy.Signature):
    """Say whether the passages contain the answer to the question: Yes or No.

    Yes only if a reader who knows nothing else could answer this very question, with its year,
    place and meaning, from the passages.
    """

    passages: str = dspy.InputField(desc="numbered passages, title | text")
    question: str = dspy.InputField(desc="one interpretation of an ambiguous question")
    answerable: YesNo = dspy.OutputField(desc="whether the passages hold the answer")
