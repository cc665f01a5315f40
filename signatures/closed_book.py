"""Answers without passages: DIVA's baseline, and query refinement (Amplayo et al., 2022)."""

import dspy

from polyqa.base.values import Interpretation
from polyqa.replies import Readings


# The closed-book baseline and DIVA's answer without passages, I_1 (section 3.3, Table 12).
class AnswerClosedBook(dspy.Signature):
    """Answer the question from what you know, in at least three sentences.

    The question may have several readings. Say what it may mean and give the answer to each
    reading that you know. Say so where you do not know.
    """

    question: str = dspy.InputField(desc="a question that may be ambiguous")
    answer: str = dspy.OutputField(desc="the long-form answer")


# The first step of query refinement, https://arxiv.org/abs/2210.17525.
class RefineQuestion(dspy.Signature):
    """List what the question may mean, with the answer to each reading, from what you know.

    Each reading is a question of its own that keeps the wording of the original and settles what it
    leaves open; its answer is a few words. Leave out readings whose answer you do not know.
    """

    question: str = dspy.InputField(desc="a question that may be ambiguous")
    refinements: Readings = dspy.OutputField(desc="distinct readings with their answers, the likeliest first")


# The second step of query refinement.
class AnswerRefined(dspy.Signature):
    """Write one answer of at least three sentences that covers every refined reading of the question.

    Say first what the question may mean, then give each reading's answer in a sentence that makes clear
    which reading it belongs to. If there is no refined reading, answer from what you know, and say so
    where you do not know.
    """

    question: str = dspy.InputField(desc="a question that may be ambiguous")
    refinements: list[Interpretation] = dspy.InputField(desc="its readings with their short answers, from memory")
    answer: str = dspy.OutputField(desc="the long-form answer")
