"""The calls of polyqa's router, Auto: one answer and whether there is another, and which readings hold."""

import dspy

from polyqa.base.values import Interpretation
from polyqa.replies import FewWords, Numbers, PassageNumber, YesNo


class LocateAnswer(dspy.Signature):
    """Answer the question in a few words from the passages, under its likeliest meaning.

    Copy the short answer from the passage that answers best, and give that passage's number. Then say whether
    the matter is settled: Yes if every passage that answers the question gives this same answer; No if
    another meaning of the question has another answer in the passages. If no passage answers the question,
    write null for the answer and No.
    """

    passages: str = dspy.InputField(desc="numbered passages, title | text")
    question: str = dspy.InputField(desc="a question that may be ambiguous")
    short_answer: FewWords = dspy.OutputField(desc="a few words, or null")
    source: PassageNumber = dspy.OutputField(desc="number of the passage, or null")
    settled: YesNo = dspy.OutputField(desc="whether the passages give this answer only")


class VerifyReadings(dspy.Signature):
    """Say which readings of the question hold, by their numbers, counted from 1.

    A reading holds only if the passage whose number it gives answers its very question, with its year, place
    and meaning, and with the answer that is given. Judge each on its own.
    """

    passages: str = dspy.InputField(desc="numbered passages, title | text")
    question: str = dspy.InputField(desc="a question that may be ambiguous")
    interpretations: list[Interpretation] = dspy.InputField(desc="its readings with their short answers")
    supported: Numbers = dspy.OutputField(desc="numbers of the readings that hold, or none")
