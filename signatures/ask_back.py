"""A question back: which of its readings the user means."""

import dspy

from polyqa.base.values import Interpretation


class AskBack(dspy.Signature):
    """Ask the user which reading of the question is meant, and name one choice for each reading, in their order.

    A choice says in at most six words what sets its reading apart from the others: the kind of thing, the year, the
    place, the person. It never gives the answer away. The question back is short and does not repeat the choices.
    """

    question: str = dspy.InputField(desc="a question that has several readings")
    interpretations: list[Interpretation] = dspy.InputField(desc="its readings with their short answers")
    question_back: str = dspy.OutputField(desc="such as: Which Titanic do you mean?")
    choices: list[str] = dspy.OutputField(desc="such as: the 1997 film")
