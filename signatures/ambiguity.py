"""DIVA's ambiguity detection, I_a (section 3.2, Table 7)."""

import dspy

from .lenient import AmbiguityTypes


class TypeAmbiguity(dspy.Signature):
    """Say which part of the question leaves its meaning open, and what it could refer to.

    The kinds of ambiguity are:
    AmbSub: it is unclear who or what the question is about (several people, works or places share
    the name; men or women).
    AmbObj: it is unclear which thing is asked for, or which thing the action is done to.
    AmbPred: it is unclear what the verb means (a film can come out at a festival or in cinemas; a
    part can be acted or voiced).
    AmbTime: it is unclear which year, season or edition is meant, and the answer changes with it.
    AmbLoc: it is unclear which country, region or place is meant, and the answer differs there.
    N/A: the question has one plain meaning.
    Give the reason first, in one or two sentences that quote the unclear words and name what they
    could mean; then every kind that applies.
    """

    question: str = dspy.InputField(desc="a question as a person typed it")
    reason: str = dspy.OutputField(desc="the unclear words and what they could mean")
    ambiguity_types: AmbiguityTypes = dspy.OutputField(desc="every kind of ambiguity that applies")
