"""SIXPAQ's revision (section 3.3.1): facts of the passage move into the question until it stands alone."""

import dspy


class ReviseQuestion(dspy.Signature):
    """Rewrite the question so that it can be understood, and means one thing, without the passage.

    Put the name of its subject where a pronoun or a bare noun stands. If the title carries a qualifier
    in brackets, add it to the name. Keep everything else; never let the answer slip in. Repeat the
    question if nothing is missing.
    """

    passage: str = dspy.InputField(desc="title | text")
    question: str = dspy.InputField(desc="a question that the passage answers")
    answer: str = dspy.InputField(desc="its answer")
    revised_question: str = dspy.OutputField(desc="the question that stands on its own")
