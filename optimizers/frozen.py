"""Keeps predictors as they are while one of DSPy's optimizers compiles the rest of a program."""

from collections.abc import Collection
from typing import Any

import dspy
from dspy.utils import magicattr


class Frozen(dspy.Module):
    """A predictor that is called as ever, but that no optimizer finds.

    DSPy's optimizers take every predictor that `named_predictors` tells, which passes over compiled
    sub-modules.
    """

    def __init__(self, predictor: dspy.Predict) -> None:
        super().__init__()
        self.predictor = predictor
        self._compiled = True

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """Call the predictor."""
        return self.predictor(**inputs)

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        """See `forward`."""
        return await self.predictor.acall(**inputs)

    def __getattr__(self, name: str) -> Any:
        # A program may read its predictor's signature or demos. What copying asks for is not the predictor's.
        if name.startswith("_") or "predictor" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.predictor, name)


def freeze(program: dspy.Module, kept: Collection[str]) -> list[str]:
    """Hide the predictors of a program from optimizers, but for those named; return the names of the hidden."""
    hidden = [(name, predictor) for name, predictor in program.named_predictors() if name not in kept]
    for name, predictor in hidden:
        magicattr.set(program, name, Frozen(predictor))
    return [name for name, _ in hidden]


def thaw(program: dspy.Module, names: Collection[str]) -> None:
    """Undo `freeze` in a program, or in a copy of it."""
    for name in names:
        magicattr.set(program, name, magicattr.get(program, name).predictor)
