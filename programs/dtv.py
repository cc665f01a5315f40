"""Diversify-then-Verify: the workflow that VERDICT (section 3.2) compares itself with."""

from itertools import islice

import dspy

from polyqa.lm.sampling import GREEDY_SAMPLING

from .base import CallLimits
from .diva import DIVA
from .steps import Steps, ask_all


class DiversifyThenVerify(DIVA):
    """DIVA with verification of every pair of pseudo-interpretation and passage.

    Pseudo-interpretations are inferred without passages (VERDICT's equation 1), each brings its top passages
    (equation 2), their union is pruned to K as DIVA does (appendix D), and every pair of pseudo-interpretation and
    passage is verified on its own, all at once (equation 3): I × K calls in place of DIVA's I; with ``lean`` K, each
    of which asks about all pseudo-interpretations. Passages that no pseudo-interpretation needs are dropped; the
    readings are extracted and the answer is written from the others (equation 4). If none is left the answer comes
    from the language model alone, as in DIVA.

    Its prediction has DIVA's fields and ``universe``, the passages that were verified; ``passages`` are those
    that passed, or all if none did, and ``verdicts`` say which pseudo-interpretations any passage answers.
    For the parameters see `diva.DIVA`.
    """

    paper_sampling = GREEDY_SAMPLING

    @property
    def call_limits(self) -> CallLimits:
        """Typing, inference, verification of all passages at once, and the answer."""
        verifying = self.passages * (1 if self.lean else self.max_interpretations)
        return CallLimits(calls=2 + verifying + self.answering_calls, depth=3 + self.answering_calls)

    def steps(self, question: str) -> Steps[dspy.Prediction]:
        """Answer a question."""
        typed, pseudo, universe = yield from self.diversified(question)
        # Passage by passage, so that calls with the same beginning follow each other.
        checks = [self.verifying([passage], question, pseudo) for passage in universe]
        replies = iter((yield from ask_all([call for calls in checks for call in calls])))
        rows = [self.verdicts([*islice(replies, len(calls))], len(pseudo)) for calls in checks]
        verdicts = [any(row[index] for row in rows) for index in range(len(pseudo))]
        passing = [passage for passage, row in zip(universe, rows, strict=True) if any(row)]
        answer = yield from self.adapt(question, passing, bool(passing), ())
        prediction = self.prediction(answer, passing or universe, typed, pseudo, verdicts)
        prediction.universe = universe
        return prediction
