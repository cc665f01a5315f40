"""VERDICT's query relaxation, I_R (section 4.1, equation 6)."""

import dspy


class RelaxQuery(dspy.Signature):
    """Rewrite the question as a search query that finds passages for every meaning it may have.

    Keep the names and the words that say what is asked for. Leave out what would narrow the search to one
    meaning, and question words that no passage contains. Do not add a meaning of your own.
    """

    question: str = dspy.InputField(desc="a question that may be ambiguous")
    relaxed_query: str = dspy.OutputField(desc="one search query")
