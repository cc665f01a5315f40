"""CRAG (Yan et al., 2024, https://arxiv.org/abs/2401.15884), prompted."""

import dspy

from polyqa.replies import FewWords, Grades


# The retrieval evaluator (section 4.2): DIVA ran CRAG with GPT-4 in place of the trained T5.
# The passage comes last: the question is the same for all passages of a question.
class GradePassage(dspy.Signature):
    """Grade how well the passage serves to answer the question: Correct, Ambiguous or Incorrect.

    Correct: it holds the answer to at least one reading of the question.
    Ambiguous: it is about something the question may mean, but one cannot be sure that it answers it.
    Incorrect: it is about something else, or of no use for an answer.
    """

    question: str = dspy.InputField(desc="a question that may be ambiguous")
    passage: str = dspy.InputField(desc="title | text")
    grade: Grades = dspy.OutputField(desc="the grade of this passage")


# The rewriting of a question for another search (section 4.5).
class RewriteQuery(dspy.Signature):
    """Turn the question into a few keywords for a search engine.

    Keep every name and what is asked about it, drop question words and fillers, and add a word that the
    wanted texts are likely to use. At most eight words, no explanation.
    """

    question: str = dspy.InputField(desc="a question that a first search did not answer")
    search_query: FewWords = dspy.OutputField(desc="keywords")
