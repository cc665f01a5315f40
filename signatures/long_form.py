"""The answer-generation call of Tree of Clarifications (section 3.3) and DIVA's I_g (equation 2,
Table 11).
"""

import dspy

from .types import Interpretation


class WriteLongFormAnswer(dspy.Signature):
    """Write one answer of at least three sentences that covers every reading of the question.

    Say first what the question may mean, then give each reading's short answer in a sentence that
    makes clear which reading it belongs to, with the facts from the passages that a reader needs to
    tell them apart. Do not add facts that stand neither in the passages nor in the readings.
    """

    passages: str = dspy.InputField(desc="numbered passages, title | text")
    question: str = dspy.InputField(desc="a question that may be ambiguous")
    interpretations: list[Interpretation] = dspy.InputField(desc="its readings with their short answers")
    answer: str = dspy.OutputField(desc="the long-form answer")
