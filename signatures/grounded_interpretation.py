"""VERDICT's verified diversification, I_E (section 4.1, equation 8, Figure 6): one passage, at most one reading.

The question comes first: it is the same for all passages, so a provider can cache the prefix.
"""

import dspy


class InterpretPassage(dspy.Signature):
    """Write the one reading of the question that this passage answers, and its answer; or abstain.

    The reading keeps the wording of the question and adds what the passage settles (the year, the place, the
    kind of thing), so that it means one thing whenever and by whomever it is asked. It does not speak of a
    passage. The short answer is copied from the passage, nothing is added from memory. If the passage is
    only about the same subject, or half an answer, write null for both.
    """

    question: str = dspy.InputField(desc="a question that may be ambiguous")
    passage: str = dspy.InputField(desc="title | text")
    interpretation: str = dspy.OutputField(desc="the reading as a question, or null")
    short_answer: str = dspy.OutputField(desc="its answer, a few words, or null")
