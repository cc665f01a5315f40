"""CRAG's retrieval evaluator (section 4.2), as a prompt: DIVA ran CRAG with GPT-4 in place of the trained T5.

The passage comes last: the question is the same for all passages of a question.
"""

import dspy

from .lenient import Grades


class GradePassage(dspy.Signature):
    """Grade how well the passage serves to answer the question: Correct, Ambiguous or Incorrect.

    Correct: it holds the answer to at least one reading of the question.
    Ambiguous: it is about something the question may mean, but one cannot be sure that it answers it.
    Incorrect: it is about something else, or of no use for an answer.
    """

    question: str = dspy.InputField(desc="a question that may be ambiguous")
    passage: str = dspy.InputField(desc="title | text")
    grade: Grades = dspy.OutputField(desc="the grade of this passage")
