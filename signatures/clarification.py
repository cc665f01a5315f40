"""Retrieval-augmented clarification, RAC: two calls as in DIVA, or one reply as in Tree of Clarifications."""

import dspy

from polyqa.base.values import Interpretation
from polyqa.replies import Interpretations


# DIVA's I_e (equation 1, Table 10).
class ExtractInterpretations(dspy.Signature):
    """Find every reading of the question that the passages answer.

    Use only what the passages say. For each reading write a question of its own that keeps the
    wording of the original and adds what settles it (the year, the place, the kind of thing, the
    meaning of the verb), a short answer copied from a passage, and the number of that passage.
    Leave out readings that no passage answers; never give the same reading twice.
    """

    passages: str = dspy.InputField(desc="numbered passages, title | text")
    question: str = dspy.InputField(desc="a question that may be ambiguous")
    interpretations: Interpretations = dspy.OutputField(desc="as many distinct readings as the passages answer")


# DIVA's I_g (equation 2, Table 11).
class WriteLongFormAnswer(dspy.Signature):
    """Write one answer of at least three sentences that covers every reading of the question.

    Say first what the question may mean, then give each reading's short answer in a sentence that
    makes clear which reading it belongs to, with the facts from the passages that a reader needs to
    tell them apart. Do not add facts that stand neither in the passages nor in the readings.
    """

    passages: str = dspy.InputField(desc="numbered passages, title | text")
    question: str = dspy.InputField(desc="a question that may be ambiguous")
    interpretations: list[Interpretation] = dspy.InputField(desc="its readings with their short answers")
    answer: str = dspy.OutputField(desc="the long-form answer")


# The RAC prompt of Tree of Clarifications (appendix C.1): readings and long answer in one reply. The passages, most of
# what is paid for, are sent once where I_e and I_g send them twice.
class ClarifyQuestion(dspy.Signature):
    """Find every reading of the question that the passages answer, then write one answer that covers them all.

    Use only what the passages say. For each reading write a question of its own that keeps the
    wording of the original and adds what settles it (the year, the place, the kind of thing, the
    meaning of the verb), a short answer copied from a passage, and the number of that passage.
    Leave out readings that no passage answers; never give the same reading twice; if no passage
    answers any, give none.
    The answer has at least three sentences. Say first what the question may mean, then give each
    reading's short answer in a sentence that makes clear which reading it belongs to, with the
    facts from the passages that a reader needs to tell them apart. Add no other facts.
    """

    passages: str = dspy.InputField(desc="numbered passages, title | text")
    question: str = dspy.InputField(desc="a question that may be ambiguous")
    interpretations: Interpretations = dspy.OutputField(desc="as many distinct readings as the passages answer")
    answer: str = dspy.OutputField(desc="the long-form answer")
