"""Self-RAG's IsSup and IsUse tokens (Table 1), as one prompt."""

import dspy

from .lenient import Supports, Usefulness


class CritiqueSegment(dspy.Signature):
    """Judge a segment of an answer that was written from the passage.

    Support says how much of what the segment states stands in the passage: Fully, all of it; Partially,
    some of it; No, none of it, or the passage says otherwise. Usefulness says how well the segment
    answers the question, true or not: 5, directly and completely for at least one reading; 4, well,
    with small gaps; 3, in part; 2, it hardly touches what is asked; 1, it misses the question.
    """

    question: str = dspy.InputField(desc="a question that may be ambiguous")
    passage: str = dspy.InputField(desc="title | text")
    segment: str = dspy.InputField(desc="a part of the answer")
    support: Supports = dspy.OutputField(desc="how much of the segment the passage supports")
    usefulness: Usefulness = dspy.OutputField(desc="from 1 to 5")
