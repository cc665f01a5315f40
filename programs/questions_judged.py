"""How far to trust questions that were made of passages: what a model says that was trained to judge answers."""

from collections.abc import Callable, Sequence

import dspy

from polyqa.base.values import Passage
from polyqa.lm.probabilities import probability_of_yes
from polyqa.signatures import VerifyFinding

from .findings import Finding
from .knn import KNNPredict
from .spanwise import VERIFYING
from .steps import ask, drive

JUDGED = 0.95
"""The least trust of such a model that is enough: of 83 questions labelled by hand 42 of 49 above it were good and 3
wrong, of the others 21 of 34 and 7 (`lab/log.md`).
"""


def trust_in_questions(
    asked: Sequence[tuple[str, str, Passage]], lm: dspy.BaseLM, *, step: Callable[[], None] = lambda: None
) -> list[float]:
    """Return for each question the probability that its answer, where it stands in the passage, answers it.

    Parameters
    ----------
    asked
        Questions, each with an answer and the passage that it was made of.
    lm
        Has weights for `polyqa.signatures.VerifyFinding` (``lm.verifies_findings``), as ``local``. It reads one call
        with them at a time.
    step
        Called after each question.
    """
    verify = KNNPredict(VerifyFinding, probabilities=True)
    trust = []
    for question, answer, passage in asked:
        finding = Finding(passage, max(0, passage.text.find(answer)), answer, 1.0, 0.0)
        with dspy.context(lm=lm):
            said = drive(ask(verify, question=question, finding=finding.render(), **VERIFYING))
        trust.append(probability_of_yes(said, said.holds))
        step()
    return trust
