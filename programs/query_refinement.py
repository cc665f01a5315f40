"""Query refinement: the closed-book baseline that names the readings first (DIVA's baseline 5)."""

from collections.abc import Sequence
from typing import Unpack

import dspy

from polyqa.base.values import Interpretation
from polyqa.lm.sampling import DIVA_SAMPLING
from polyqa.signatures import AnswerRefined, RefineQuestion

from .base import CallLimits, Program, Settings
from .steps import Steps, ask


class QueryRefinement(Program):
    """Refine the question into readings with answers, then answer, both from the model's own knowledge.

    Amplayo et al. (2022, https://arxiv.org/abs/2210.17525) let one prompt write the refinements and the
    long answer; DIVA's baseline (appendix A.3) asks for the refinements first and hands them to a
    second call, and so does this.

    Its prediction has ``answer``, ``interpretations`` (the refinements; no ``pid``: nothing is cited) and
    ``passages`` (empty).

    Parameters
    ----------
    encoder
        For kNN demos, see `knn.KNNPredict`.
    max_refinements
        How many refinements are answered at most, at least 1; the paper sets no limit.
    """

    paper_sampling = DIVA_SAMPLING
    call_limits = CallLimits(2, 2)

    def __init__(self, *, max_refinements: int = 10, **settings: Unpack[Settings]) -> None:
        super().__init__(**settings)
        if max_refinements < 1:
            raise ValueError(f"max_refinements must be at least 1, got {max_refinements}")
        self.max_refinements = max_refinements
        self.refine = self.predictor(RefineQuestion)
        self.write = self.predictor(AnswerRefined)

    def steps(self, question: str) -> Steps[dspy.Prediction]:
        """Answer a question."""
        refinements = self._usable((yield from ask(self.refine, question=question)).refinements)
        written = yield from ask(self.write, question=question, refinements=refinements)
        return dspy.Prediction(answer=written.answer, interpretations=refinements, passages=[])

    def _usable(self, refinements: Sequence[Interpretation]) -> list[Interpretation]:
        # A source that a language model names from memory is not one of the user's passages.
        return [one.model_copy(update={"pid": None}) for one in refinements[: self.max_refinements]]
