"""Joint passage reranking (JPR, https://arxiv.org/abs/2104.08445), as one list-wise prompt."""

import dspy

from polyqa.replies import Numbers


class SelectPassages(dspy.Signature):
    """Choose passages that together answer as many readings of the question as possible.

    A passage is worth choosing for an answer that those chosen before it do not give: two passages with
    the same answer count as one. Put first the passage with the likeliest answer, then each time
    the one that adds another answer. When nothing is left to add, go on with the most relevant.
    """

    passages: str = dspy.InputField(desc="numbered passages, title | text")
    question: str = dspy.InputField(desc="a question that may be ambiguous")
    count: int = dspy.InputField(desc="how many passages to choose")
    selected: Numbers = dspy.OutputField(desc="numbers of the chosen passages, in the order of choice")
