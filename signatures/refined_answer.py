"""The second step of query refinement, closed-book (Amplayo et al., 2022, https://arxiv.org/abs/2210.17525)."""

import dspy

from .types import Interpretation


class AnswerRefined(dspy.Signature):
    """Write one answer of at least three sentences that covers every refined reading of the question.

    Say first what the question may mean, then give each reading's answer in a sentence that makes clear
    which reading it belongs to. If there is no refined reading, answer from what you know, and say so
    where you do not know.
    """

    question: str = dspy.InputField(desc="a question that may be ambiguous")
    refinements: list[Interpretation] = dspy.InputField(desc="its readings with their short answers, from memory")
    answer: str = dspy.OutputField(desc="the long-form answer")
