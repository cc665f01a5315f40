"""CRAG's rewriting of a question for another search (section 4.5)."""

import dspy


class RewriteQuery(dspy.Signature):
    """Turn the question into a few keywords for a search engine.

    Keep every name and what is asked about it, drop question words and fillers, and add a word that the
    wanted texts are likely to use. At most eight words, no explanation.
    """

    question: str = dspy.InputField(desc="a question that a first search did not answer")
    search_query: str = dspy.OutputField(desc="keywords")
