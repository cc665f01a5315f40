"""Judge of matching readings, VERDICT's I_M (appendix A, equation 17, Figure 7).

The paper asks for one Yes or No per reading; numbers say the same in fewer tokens, and a reply of the
wrong length cannot happen.
"""

import dspy

from .lenient import Numbers


class MatchInterpretations(dspy.Signature):
    """Say which wanted readings of the ambiguous question are among the found readings.

    A wanted reading is covered if some found reading asks for the same thing, however it is worded.
    It is not covered by a reading that is broader, narrower, or about another year, place or person.
    """

    question: str = dspy.InputField(desc="the ambiguous question")
    found: str = dspy.InputField(desc="numbered readings that were found")
    wanted: str = dspy.InputField(desc="numbered readings that are looked for")
    covered: Numbers = dspy.OutputField(desc="numbers of the wanted readings that are covered, [] if none")
