"""DIVA's pseudo-interpretation inference, I_p (section 3.2, equation 3, Table 8)."""

import dspy

from .lenient import Questions


class InferPseudoInterpretations(dspy.Signature):
    """Rewrite the question into the distinct questions that the person may have meant.

    Follow the reason: it says which words are unclear and what they could mean. Each rewritten
    question keeps the wording of the original, settles the unclear words in one way, and can be
    understood without the others. They are used to search for passages, so name things as a text
    about them would. If the question has one plain meaning, repeat it.
    """

    question: str = dspy.InputField(desc="the ambiguous question")
    reason: str = dspy.InputField(desc="why it is ambiguous")
    pseudo_interpretations: Questions = dspy.OutputField(desc="two to six distinct questions, the likeliest first")
