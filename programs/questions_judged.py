"""How far to trust questions that were made of passages: a model that copies answers answers them again."""

from collections.abc import Callable, Sequence

import dspy

from polyqa.base.values import Passage
from polyqa.lm.probabilities import probability_of_first
from polyqa.metrics.agreement import agree
from polyqa.signatures import ReadPassage

from .knn import KNNPredict
from .passages_read import NONE, READING, answers_in, shown
from .steps import ask, drive

JUDGED = 0.95
"""The least trust of such a model that is enough: of 83 questions labelled by hand 47 of 57 above it were good and 3
wrong, of the others 16 of 26 and 7 (`lab/log.md`).
"""


def trust_in_questions(
    questions: Sequence[tuple[str, str, Passage]], lm: dspy.BaseLM, *, step: Callable[[], None] = lambda: None
) -> list[float]:
    """Return for each question how likely its passage answers it, and with its answer; 0 where with another one.

    Parameters
    ----------
    questions
        Questions, each with an answer and the passage that it was made of.
    lm
        Has weights for `polyqa.signatures.ReadPassage` (``lm.reads_passages``), as ``local``. It reads one call with
        them at a time.
    step
        Called after each question.
    """
    read = KNNPredict(ReadPassage, probabilities=True)
    trust = []
    for question, answer, passage in questions:
        with dspy.context(lm=lm):
            reply = drive(ask(read, question=question, passage=shown(passage), **READING))
        same = any(agree(copied, [answer]) for _, copied in answers_in(passage, reply.answers, question))
        trust.append(1 - probability_of_first(reply, NONE) if same else 0.0)
        step()
    return trust
