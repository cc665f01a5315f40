"""A language model as the judge, with VERDICT's three prompts."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import dspy

from polyqa.base.errors import PolyqaError
from polyqa.base.threads import in_threads
from polyqa.base.values import Passage
from polyqa.lm.adapter import LeanAdapter
from polyqa.lm.exchanges import exchanging
from polyqa.lm.harmless import harmless
from polyqa.signatures import FindDistinct, MatchInterpretations, VerifySupport

from .judges import Claim


class LLMJudge:
    """Asks a language model: I_M once per direction, I_V once per pair (all at once), I_D once.

    Parameters
    ----------
    lm
        The judge; not necessarily the model that is judged. Give it temperature 0.
    threads
        How many pairs are judged at once.
    """

    def __init__(self, lm: dspy.LM, *, threads: int = 8) -> None:
        self.lm = lm
        self.threads = threads
        self._match = dspy.Predict(MatchInterpretations)
        self._support = dspy.Predict(VerifySupport)
        self._distinct = dspy.Predict(FindDistinct)

    @property
    def name(self) -> str:
        """The name of the language model."""
        return str(self.lm.model)

    def covered(self, question: str, found: Sequence[Claim], wanted: Sequence[Claim]) -> list[bool]:
        """See `judges.Judge.covered`.

        Raises
        ------
        PolyqaError
            If the model names a reading that it was not shown.
        """
        if not found or not wanted:
            return [False] * len(wanted)
        reply = self._ask(self._match, question=question, found=_numbered(found), wanted=_numbered(wanted))
        return self._flags(reply.covered, len(wanted))

    def supported(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[bool]:
        """See `judges.Judge.supported`."""
        calls: list[dict[str, str]] = [
            {"passage": passage.render(), "question": claim.question, "answer": " or ".join(claim.answers) or "any"}
            for claim, passage in pairs
        ]
        if not calls:
            return []
        with in_threads(min(self.threads, len(calls))) as start:
            # Every thread gets a copy of this context: DSPy's callbacks and usage tracker.
            futures = [start(partial(self._ask, self._support, **call)) for call in calls]
            return [future.result().supported == "Yes" for future in futures]

    def distinct(self, question: str, readings: Sequence[Claim]) -> list[bool]:
        """See `judges.Judge.distinct`; a single reading is not asked about.

        Raises
        ------
        PolyqaError
            If the model names a reading that it was not shown, or keeps none.
        """
        if len(readings) < 2:
            return [True] * len(readings)
        reply = self._ask(self._distinct, question=question, readings=_numbered(readings))
        if not reply.kept:
            raise PolyqaError(f"The judge {self.name} kept none of {len(readings)} readings; try another judge model.")
        return self._flags(reply.kept, len(readings))

    def _ask(self, predict: Callable[..., Any], **inputs: str) -> Any:
        # A judge's calls are no part of the program's trace, from which optimizers make demos.
        with dspy.context(lm=self.lm, adapter=LeanAdapter(), trace=None), exchanging():
            return predict(**harmless(inputs))

    def _flags(self, numbers: Sequence[int], size: int) -> list[bool]:
        strange = [number for number in numbers if not 1 <= number <= size]
        if strange:
            raise PolyqaError(f"The judge {self.name} named reading {strange[0]} of {size}; try another judge model.")
        return [number in numbers for number in range(1, size + 1)]


def _numbered(readings: Sequence[Claim]) -> str:
    # Not "[1]": of a reply "[1] and [3]" DSPy's repairing parser leaves [3].
    return "\n".join(f"{number}. {reading.question}" for number, reading in enumerate(readings, 1))
