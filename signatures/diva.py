"""DIVA (In et al., 2024, https://arxiv.org/abs/2409.02361): what is ambiguous, what it could mean, is it answered."""

import dspy

from polyqa.replies import AmbiguityTypes, Questions, Sentences, Verdicts, YesNo


# Ambiguity detection, I_a (section 3.2, Table 7).
class TypeAmbiguity(dspy.Signature):
    """Say which part of the question leaves its meaning open, and what it could refer to.

    The kinds:
    AmbSub: it is unclear who or what the question is about (several people, works or places share
    the name; men or women).
    AmbObj: it is unclear which thing is asked for, or which thing the action is done to.
    AmbPred: it is unclear what the verb means (a film can come out at a festival or in cinemas; a
    part can be acted or voiced).
    AmbTime: it is unclear which year, season or edition is meant, and the answer changes with it.
    AmbLoc: it is unclear which country, region or place is meant, and the answer differs there.
    N/A: the question has one plain meaning.
    Give the reason first, in one or two sentences that quote the unclear words; then every kind
    that applies.
    """

    question: str = dspy.InputField(desc="a question as a person typed it")
    reason: Sentences = dspy.OutputField(desc="the unclear words and what they could mean")
    ambiguity_types: AmbiguityTypes = dspy.OutputField(desc="every kind that applies")


# Pseudo-interpretation inference, I_p (section 3.2, equation 3, Table 8).
class InferPseudoInterpretations(dspy.Signature):
    """Rewrite the question into the distinct questions that the person may have meant.

    Follow the reason: it says which words are unclear and what they could mean. Each keeps
    the wording of the original, settles the unclear words in one way, and can be understood
    without the others. They are searched for: name things as a text about them would. If the
    question has one plain meaning, repeat it.
    """

    question: str = dspy.InputField(desc="the ambiguous question")
    reason: str = dspy.InputField(desc="why it is ambiguous")
    pseudo_interpretations: Questions = dspy.OutputField(desc="two to six distinct questions, the likeliest first")


# Retrieval verification, I_v (section 3.3, equation 7, Table 9). The passages come first: they are the same for all
# interpretations of a question, so a provider can cache the prefix.
class VerifyInterpretation(dspy.Signature):
    """Say whether the passages contain the answer to the question: Yes or No.

    Yes only if a reader who knows nothing else could answer this very question, with its year,
    place and meaning, from the passages.
    """

    passages: str = dspy.InputField(desc="numbered passages, title | text")
    question: str = dspy.InputField(desc="one interpretation of an ambiguous question")
    answerable: YesNo = dspy.OutputField(desc="whether the passages hold the answer")


# I_v for all pseudo-interpretations of a question in one call: the passages are sent once, the reply is a few numbers.
class VerifyInterpretations(dspy.Signature):
    """Say which interpretations of the question the passages answer, by their numbers.

    One is answered only if a reader who knows nothing else could answer this very interpretation, with its
    year, place and meaning, from the passages. Judge each on its own.
    """

    passages: str = dspy.InputField(desc="numbered passages, title | text")
    question: str = dspy.InputField(desc="a question that may be ambiguous")
    candidates: str = dspy.InputField(desc="its numbered interpretations")
    answered: Verdicts = dspy.OutputField(desc="which interpretations are answered")
