"""Self-RAG's Retrieve token (Table 1), as a prompt."""

import dspy

from .lenient import YesNo


class DecideRetrieval(dspy.Signature):
    """Say whether passages should be looked up before the question is answered: Yes or No.

    Yes if the answer depends on facts: names, dates, figures, events, works, places. No if it needs
    none, as for a matter of taste or a text to be written.
    """

    question: str = dspy.InputField(desc="a question that may be ambiguous")
    needs_passages: YesNo = dspy.OutputField(desc="whether to look passages up")
