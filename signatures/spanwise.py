"""The calls of the program for small language models: one passage, one finding, and all findings at a time."""

import dspy

from polyqa.replies import Interpretations, LineForEach, YesNo


class ReadPassage(dspy.Signature):
    """Copy each answer that the passage gives to the question, whatever the question may mean."""

    question: str = dspy.InputField(desc="a question that may be ambiguous")
    passage: str = dspy.InputField(desc="title | text")
    answers: str = dspy.OutputField(desc="word for word as in the passage: one a line; or none")


# One finding a call: beside others a small model names the likeliest alone.
class VerifyFinding(dspy.Signature):
    """Say whether the question can mean this finding: Yes or No.

    Yes if the question can mean the thing in the title and the answer is right for it. No if the question
    names something else (another name, kind, place, year or event), or if the answer answers another question.
    """

    question: str = dspy.InputField(desc="a question that may be ambiguous")
    finding: str = dspy.InputField(desc="title | sentence | answer")
    holds: YesNo = dspy.OutputField(desc="whether the finding answers the question")


class TellFindings(dspy.Signature):
    """Write the question again for each of several findings, then one answer that tells all of them.

    Each new question asks for just the answer of its finding: it names the kind of thing, the place, the
    year or the event that tells this finding from the others. The answer has one line for each finding, in
    their order: a sentence that names the thing and tells its answer.
    """

    findings: str = dspy.InputField(desc="numbered findings, title | sentence | answer")
    question: str = dspy.InputField(desc="a question that may be ambiguous")
    interpretations: Interpretations = dspy.OutputField(desc="one for each of several findings")
    answer: LineForEach = dspy.OutputField(desc="the long-form answer, a line for each finding")
