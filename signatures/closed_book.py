"""The closed-book baseline and DIVA's answer without passages, I_1 (section 3.3, Table 12)."""

import dspy


class AnswerClosedBook(dspy.Signature):
    """Answer the question from what you know, in at least three sentences.

    The question may have several readings. Say what it may mean and give the answer to each
    reading that you know. Say so where you do not know.
    """

    question: str = dspy.InputField(desc="a question that may be ambiguous")
    answer: str = dspy.OutputField(desc="the long-form answer")
