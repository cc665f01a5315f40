"""SIXPAQ's second step, question generation (section 3.1.3): one question for one answer."""

import dspy


class GenerateQuestion(dspy.Signature):
    """Write the question that the passage answers with exactly this span.

    Ask as a person would who has not seen the passage: one short sentence that names its subject and
    does not give the answer away. Write None if no natural question leads to this span.
    """

    passage: str = dspy.InputField(desc="title | text")
    answer: str = dspy.InputField(desc="a span of the passage")
    question: str = dspy.OutputField(desc="one question, or None")
