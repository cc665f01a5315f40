"""Self-RAG's IsRel token and the segment that follows it (Algorithm 1, Table 1), as one prompt per passage.

The short answers are polyqa's addition: a program reports its readings with their sources. The passage comes
last: the question is the same for all passages of a question.
"""

import dspy

from .lenient import Readings, YesNo


class DraftSegment(dspy.Signature):
    """Say whether the passage helps to answer the question, and if so answer from this passage alone.

    The passage need not settle every reading of the question; one reading is enough to be relevant.
    Give each reading that it answers as a question of its own, worded like the original with what
    settles it added, and a short answer copied from the passage. Then write the segment: one or two
    sentences that name the thing they are about and state these answers, with nothing that the
    passage does not say. If the passage is of no help, give no reading, and None as the segment.
    """

    question: str = dspy.InputField(desc="a question that may be ambiguous")
    passage: str = dspy.InputField(desc="title | text")
    relevant: YesNo = dspy.OutputField(desc="whether the passage helps to answer the question")
    readings: Readings = dspy.OutputField(desc="the readings that this passage answers")
    segment: str = dspy.OutputField(desc="one or two sentences, or None")
