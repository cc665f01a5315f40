"""The first step of query refinement, closed-book (Amplayo et al., 2022, https://arxiv.org/abs/2210.17525)."""

import dspy

from .lenient import Readings


class RefineQuestion(dspy.Signature):
    """List what the question may mean, with the answer to each reading, from what you know.

    Each reading is a question of its own that keeps the wording of the original and settles what it
    leaves open; its answer is a few words. Leave out readings whose answer you do not know.
    """

    question: str = dspy.InputField(desc="a question that may be ambiguous")
    refinements: Readings = dspy.OutputField(desc="distinct readings with their answers, the likeliest first")
