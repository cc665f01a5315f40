"""Tree of Clarifications (Kim et al., 2023): its self-verification (section 3.2, appendix C.3).

The root question comes first: it is the same for all nodes of a tree, so a provider can cache the prefix.
"""

import dspy

from polyqa.replies import YesNo


class VerifyAgainstRoot(dspy.Signature):
    """Say whether the candidate could be a right answer to the question: Yes or No.

    The question may be ambiguous: Yes if under one of its meanings the passage makes the candidate a right
    answer. No if the candidate answers something else, such as another year than the question names,
    another fact about the same subject, or another subject.
    """

    question: str = dspy.InputField(desc="the question as it was first asked")
    passage: str = dspy.InputField(desc="title | text")
    candidate: str = dspy.InputField(desc="a short answer found on the way")
    fitting: YesNo = dspy.OutputField(desc="whether the candidate can answer the question")
