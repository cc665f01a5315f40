"""How far to trust questions that were made of passages: what a model says that was trained to judge answers."""

from collections.abc import Sequence

import dspy

from polyqa.base.values import Passage
from polyqa.lm.probabilities import probability_of_yes
from polyqa.signatures import VerifyFinding

from .knn import KNNPredict
from .spanwise import VERIFYING, Finding
from .steps import ask_all, drive


def trust_in_questions(asked: Sequence[tuple[str, str, Passage]], lm: dspy.BaseLM) -> list[float]:
    """Return for each question the probability that its answer, where it stands in the passage, answers it.

    Parameters
    ----------
    asked
        Questions, each with an answer and the passage that it was made of.
    lm
        Has weights for `polyqa.signatures.VerifyFinding` (``lm.verifies_findings``), as ``local``.
    """
    verify = KNNPredict(VerifyFinding, probabilities=True)
    findings = [Finding(passage, max(0, passage.text.find(answer)), answer, 1.0, 0.0) for _, answer, passage in asked]
    calls = [
        (verify, {"question": question, "finding": finding.render(), **VERIFYING})
        for (question, _, _), finding in zip(asked, findings, strict=True)
    ]
    with dspy.context(lm=lm):
        return [probability_of_yes(said, said.holds) for said in drive(ask_all(calls))]
