"""Which retrieved questions are readings of the asked one: the choice that SIXPAQ's trained reader makes
by itself (section 3.3.2).
"""

import dspy

from .lenient import Numbers


class SelectQuestions(dspy.Signature):
    """Say which of the candidate questions are readings of the asked question.

    A candidate was found because its wording is near; keep it only if a person who asked the question
    may have meant it, so that its answer belongs into a complete answer. Leave out those that ask for
    something else, or about someone else than the question can mean, and those that repeat the answer
    of one that you keep.
    """

    question: str = dspy.InputField(desc="a question that may be ambiguous")
    candidates: str = dspy.InputField(desc="numbered candidates, question | answer")
    kept: Numbers = dspy.OutputField(desc="numbers of the candidates to keep, [] if none is a reading")
