"""VERDICT (Lee et al., 2025, https://arxiv.org/abs/2502.10352): its program's calls and its judge's."""

import dspy

from polyqa.replies import FewWords, Numbers, OneLine, YesNo


# Query relaxation, I_R (section 4.1, equation 6).
class RelaxQuery(dspy.Signature):
    """Rewrite the question as a search query that finds passages for every meaning it may have.

    Keep the names and the words that say what is asked for. Leave out what would narrow the search to one
    meaning, and question words that no passage contains. Do not add a meaning of your own.
    """

    question: str = dspy.InputField(desc="a question that may be ambiguous")
    relaxed_query: OneLine = dspy.OutputField(desc="one search query")


# Verified diversification, I_E (section 4.1, equation 8, Figure 6): one passage, at most one reading.
# The question comes first: it is the same for all passages, so a provider can cache the prefix.
class InterpretPassage(dspy.Signature):
    """Write the one reading of the question that this passage answers, and its answer; or abstain.

    The reading keeps the wording of the question and adds what the passage settles (the year, the place, the
    kind of thing), so that it means one thing whenever and by whomever it is asked. It does not speak of a
    passage. The short answer is copied from the passage, nothing is added from memory. If the passage is
    only about the same subject, or half an answer, write null for both.
    """

    question: str = dspy.InputField(desc="a question that may be ambiguous")
    passage: str = dspy.InputField(desc="title | text")
    interpretation: OneLine = dspy.OutputField(desc="the reading as a question, or null")
    short_answer: FewWords = dspy.OutputField(desc="its answer, a few words, or null")


# Judge of matching readings, I_M (appendix A, equation 17, Figure 7). The paper asks for one Yes or No per reading;
# numbers say the same in fewer tokens, and a reply of the wrong length cannot happen.
class MatchInterpretations(dspy.Signature):
    """Say which wanted readings of the ambiguous question are among the found readings.

    A wanted reading is covered if some found reading asks for the same thing, however it is worded.
    It is not covered by a reading that is broader, narrower, or about another year, place or person.
    """

    question: str = dspy.InputField(desc="the ambiguous question")
    found: str = dspy.InputField(desc="numbered readings that were found")
    wanted: str = dspy.InputField(desc="numbered readings that are looked for")
    covered: Numbers = dspy.OutputField(desc="numbers of the wanted readings that are covered, none if none is")


# Judge of evidence, I_V (appendix A, equation 20, Figure 8).
class VerifySupport(dspy.Signature):
    """Say whether the passage supports this answer to this question: Yes or No.

    Yes only if someone who reads nothing but the passage would come to this answer. A passage about
    the same subject that does not say so, or says otherwise, does not support it.
    """

    passage: str = dspy.InputField(desc="title | text")
    question: str = dspy.InputField(desc="a question with one meaning")
    answer: str = dspy.InputField(desc="a short answer")
    supported: YesNo = dspy.OutputField(desc="whether the passage is enough evidence for the answer")


# Judge of repetition, I_D (section 5.1.1, Figure 9); here numbers are returned, not the texts.
class FindDistinct(dspy.Signature):
    """Say which of the readings to keep so that none is left that nearly repeats another.

    Of readings that ask for the same thing in other words keep the first.
    """

    question: str = dspy.InputField(desc="the ambiguous question")
    readings: str = dspy.InputField(desc="numbered readings of it")
    kept: Numbers = dspy.OutputField(desc="numbers of the readings to keep")
