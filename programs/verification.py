"""Whether passages answer interpretations (DIVA, equation 7): a call for each of them, or one call for all."""

from collections.abc import Sequence
from typing import ClassVar

import dspy

from polyqa.base.values import Passage, render_passages
from polyqa.signatures import VerifyInterpretation, VerifyInterpretations

from .steps import CallTuple


class OneByOne:
    """A call for each interpretation, as published."""

    signature: ClassVar[type[dspy.Signature]] = VerifyInterpretation

    def calls(
        self, verify: dspy.Module, passages: Sequence[Passage], question: str, interpretations: Sequence[str]
    ) -> list[CallTuple]:
        """Return the calls that hold interpretations of a question against passages."""
        rendered = render_passages(passages)
        return [(verify, {"passages": rendered, "question": interpretation}) for interpretation in interpretations]

    def verdicts(self, replies: Sequence[dspy.Prediction], count: int) -> list[bool]:
        """Return for each of ``count`` interpretations whether the passages answer it; none without replies."""
        return [reply.answerable == "Yes" for reply in replies] or [False] * count


class Together(OneByOne):
    """One call for all interpretations: the passages are sent once, the reply is a few numbers."""

    signature = VerifyInterpretations

    def calls(
        self, verify: dspy.Module, passages: Sequence[Passage], question: str, interpretations: Sequence[str]
    ) -> list[CallTuple]:
        """See `OneByOne.calls`."""
        inputs = {"passages": render_passages(passages), "question": question, "candidates": list(interpretations)}
        return [(verify, inputs)]

    def verdicts(self, replies: Sequence[dspy.Prediction], count: int) -> list[bool]:
        """See `OneByOne.verdicts`."""
        return named(replies[0].answered if replies else (), count)


def named(numbers: Sequence[int], count: int) -> list[bool]:
    """Return for each of ``count`` numbered things whether a reply names its number; other numbers name nothing."""
    return [number in numbers for number in range(1, count + 1)]
