"""SIXPAQ (Sun et al., 2023, https://arxiv.org/abs/2308.08661): questions made from a corpus, and their choice."""

from functools import cache

import dspy

from polyqa.replies import Answers, Numbers, OneLine, Readings


# First step, answer detection (section 3.1.2): what in a passage may be asked for.
class DetectAnswers(dspy.Signature):
    """List the short spans of the passage that a person might ask for.

    Good spans are dates and years, names of people and places, numbers with what they count, names of
    works and things. Copy each span letter by letter, as short as it can be understood, and leave out
    the title of the passage itself. At most eight, the most telling first.
    """

    passage: str = dspy.InputField(desc="title | text")
    answers: Answers = dspy.OutputField(desc="short spans copied from the passage, none if there is none")


@cache
def detecting(most: int) -> type[dspy.Signature]:
    """Return `DetectAnswers`, asking for at most so many spans instead of eight."""
    if most == 8:
        return DetectAnswers
    return DetectAnswers.with_instructions(DetectAnswers.instructions.replace("At most eight", f"At most {most}"))


# Second step, question generation (section 3.1.3): one question for one answer.
class GenerateQuestion(dspy.Signature):
    """Write the question that the passage answers with exactly this span.

    Ask as a person would who has not seen the passage: one short sentence that names its subject and
    does not give the answer away. Write None if no natural question leads to this span.
    """

    passage: str = dspy.InputField(desc="title | text")
    answer: str = dspy.InputField(desc="a span of the passage")
    question: OneLine = dspy.OutputField(desc="one question, or None")


# Revision (section 3.3.1): facts of the passage move into the question until it stands alone.
class ReviseQuestion(dspy.Signature):
    """Rewrite the question so that it can be understood, and means one thing, without the passage.

    Put the name of its subject where a pronoun or a bare noun stands. If the title carries a qualifier
    in brackets, add it to the name. Keep everything else; never let the answer slip in. Repeat the
    question if nothing is missing.
    """

    passage: str = dspy.InputField(desc="title | text")
    question: str = dspy.InputField(desc="a question that the passage answers")
    answer: str = dspy.InputField(desc="its answer")
    revised_question: OneLine = dspy.OutputField(desc="the question that stands on its own")


# Which retrieved questions are readings of the asked one: the choice that the paper's trained reader makes by
# itself (section 3.3.2).
class SelectQuestions(dspy.Signature):
    """Say which of the candidate questions are readings of the asked question.

    A candidate was found because its wording is near; keep it only if a person who asked the question
    may have meant it, so that its answer belongs into a complete answer. Leave out those that ask for
    something else, or about someone else than the question can mean, and those that repeat the answer
    of one that you keep.
    """

    question: str = dspy.InputField(desc="a question that may be ambiguous")
    candidates: str = dspy.InputField(desc="numbered candidates, question | answer")
    kept: Numbers = dspy.OutputField(desc="numbers of the candidates to keep, none if none is a reading")


# The first steps and the revision in one call, for a language model, which needs no span to ask about.
class AskOfPassage(dspy.Signature):
    """Write the questions that people would ask whom the passage answers, each with its answer.

    Ask as a person would who has not seen the passage: one short sentence that calls its subject by the name that the
    title or the text has for it, and means one thing without the passage. Copy the answer word for word from the
    passage, as short as it answers the question. At most six, the most useful first; none if the passage tells nothing.
    """

    passage: str = dspy.InputField(desc="title | text")
    questions: Readings = dspy.OutputField(desc="each question with its answer, none if there is none")


# Not in the paper, whose questions are each of one passage: an ambiguous question is one that several answer.
class AskOfNamesakes(dspy.Signature):
    """Write one question that both passages answer, each with another answer.

    The passages are about two things that share a name. Ask as a person would who knows only that name: one short
    question about one fact that both passages give, such as who, when, where or how many. Use the shared name, and
    nothing that tells the two apart. Copy each answer letter by letter from its passage, as short as it can be
    understood. Write None for all three if no natural question fits both.
    """

    passages: str = dspy.InputField(desc="two passages, numbered, each title | text")
    name: str = dspy.InputField(desc="the name that both share")
    question: OneLine = dspy.OutputField(desc="one question, or None")
    first_answer: OneLine = dspy.OutputField(desc="a span of passage 1, or None")
    second_answer: OneLine = dspy.OutputField(desc="a span of passage 2, or None")


# The second reading of what was asked: a model that does not find its own answer again asked a bad question.
class AnswerFromPassage(dspy.Signature):
    """Answer the question from the passage alone.

    Copy the shortest span that answers it. Write None if the passage does not say.
    """

    passage: str = dspy.InputField(desc="title | text")
    question: str = dspy.InputField()
    answer: OneLine = dspy.OutputField(desc="a span of the passage, or None")
