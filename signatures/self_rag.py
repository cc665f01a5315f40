"""Self-RAG (Asai et al., 2024, https://arxiv.org/abs/2310.11511), prompted: its tokens (Table 1) are output fields."""

import dspy

from polyqa.replies import Readings, Sentences, Supports, Usefulness, YesNo


# The Retrieve token.
class DecideRetrieval(dspy.Signature):
    """Say whether passages should be looked up before the question is answered: Yes or No.

    Yes if the answer depends on facts: names, dates, figures, events, works, places. No if it needs
    none, as for a matter of taste or a text to be written.
    """

    question: str = dspy.InputField(desc="a question that may be ambiguous")
    needs_passages: YesNo = dspy.OutputField(desc="whether to look passages up")


# The IsRel token and the segment that follows it (Algorithm 1), one prompt per passage. The short answers are
# polyqa's addition: a program reports its readings with their sources. The passage comes last: the question is the
# same for all passages of a question.
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
    segment: Sentences = dspy.OutputField(desc="one or two sentences, or None")


# The IsSup and IsUse tokens, as one prompt.
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
