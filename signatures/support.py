"""Judge of evidence, VERDICT's I_V (appendix A, equation 20, Figure 8)."""

import dspy

from .lenient import YesNo


class VerifySupport(dspy.Signature):
    """Say whether the passage supports this answer to this question: Yes or No.

    Yes only if someone who reads nothing but the passage would come to this answer. A passage about
    the same subject that does not say so, or says otherwise, does not support it.
    """

    passage: str = dspy.InputField(desc="title | text")
    question: str = dspy.InputField(desc="a question with one meaning")
    answer: str = dspy.InputField(desc="a short answer")
    supported: YesNo = dspy.OutputField(desc="whether the passage is enough evidence for the answer")
