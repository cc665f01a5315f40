"""Runs a program without sending anything: the embedded engine answers, and a virtual clock counts the round trips."""

import asyncio
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import dspy
from dspy.lm15 import Request, Response, response_to_events
from dspy.utils.callback import BaseCallback

from polyqa.base.errors import PolyqaError
from polyqa.extractive import MODEL_NAME, ExtractiveEngine

from .virtual_loop import run_virtually

_ROUND_TRIP = 1.0  # virtual seconds that a call takes


@dataclass(frozen=True)
class Rendered:
    """What an adapter made a prompt of."""

    adapter: dspy.Adapter
    signature: type[dspy.Signature]
    inputs: Mapping[str, Any]


@dataclass(frozen=True)
class DryCall:
    """A call that would have been sent.

    Attributes
    ----------
    step
        Name of the predictor that makes it, ``""`` if none does.
    lm
        The language model of its own that the predictor has; ``None`` if it asks the program's.
    began
        How many round trips the question had waited for when the call began: calls with the same number go out at
        once.
    messages
        Pairs of role and text.
    reply
        The embedded engine's.
    rendered
        What the messages were made of, ``None`` if no adapter made them.
    """

    step: str
    lm: str | None
    began: int
    messages: Sequence[tuple[str, str]]
    reply: str
    rendered: Rendered | None = field(repr=False)


@dataclass(frozen=True)
class DryRun:
    """What a question would have taken.

    Attributes
    ----------
    calls
        In the order in which they began; speculative calls whose replies are not waited for among them.
    depth
        How many round trips the question waits for, one after the other.
    """

    calls: Sequence[DryCall]
    depth: int


class Rehearsal:
    """A program with the embedded engine in the place of every language model.

    The program is run as ``acall`` in virtual time, where a call takes one round trip and all else takes no time. So
    the depth is exact: it knows calls that go out together, one that waits for a free place (``calls_at_once``), and
    one whose reply is not needed, and depends neither on threads nor on how fast this machine is.

    Parameters
    ----------
    program
        It is not changed.
    engine
        Answers.

    Raises
    ------
    PolyqaError
        If the program cannot be awaited.
    """

    def __init__(self, program: dspy.Module, engine: ExtractiveEngine) -> None:
        if not hasattr(program, "aforward"):
            raise PolyqaError(
                f"{type(program).__name__} has no aforward, so it cannot be run without sending anything; a program "
                "that writes its algorithm as steps() has one."
            )
        self._own = {name: one.lm.model for name, one in _predictors(program) if one.lm is not None}
        self._program = _without_lms(program)
        self._engine = engine

    def run(self, question: str) -> DryRun:
        """Return what a question takes; the adapter is the one that is configured in DSPy."""
        names = {id(predictor): name for name, predictor in _predictors(self._program)}
        noted: list[DryCall] = []
        engine = _NotingEngine(self._engine, noted, self._own)
        lm = dspy.LM(MODEL_NAME, engine=self._engine, async_engine=engine, cache=False, num_retries=0)
        callbacks = [*(dspy.settings.callbacks or ()), _Steps(names)]
        with dspy.context(lm=lm, callbacks=callbacks):
            _, took = run_virtually(lambda: self._program.acall(question=question))
        return DryRun(tuple(noted), round(took / _ROUND_TRIP))


_STEP: ContextVar[str] = ContextVar("polyqa_dry_run_step", default="")
_RENDERED: ContextVar[Rendered | None] = ContextVar("polyqa_dry_run_rendered", default=None)


class _Steps(BaseCallback):
    """Tells the engine which predictor calls it, and what its adapter made the prompt of."""

    def __init__(self, names: Mapping[int, str]) -> None:
        self.names = names

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        if id(instance) in self.names:
            _STEP.set(self.names[id(instance)])
            _RENDERED.set(None)

    def on_adapter_format_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        if "signature" in inputs:  # DSPy tells it twice of an adapter's subclass, the first time without names
            _RENDERED.set(Rendered(instance, inputs["signature"], dict(inputs["inputs"])))


class _NotingEngine:
    """DSPy's asynchronous engine contract: notes a call, then lets one round trip pass."""

    def __init__(self, engine: ExtractiveEngine, noted: list[DryCall], own: Mapping[str, str]) -> None:
        self.engine, self.noted, self.own = engine, noted, own

    async def complete(self, request: Request) -> Response:
        began = round(asyncio.get_running_loop().time() / _ROUND_TRIP)
        response = self.engine.complete(request)
        step = _STEP.get()
        text = response.message.text or ""
        self.noted.append(DryCall(step, self.own.get(step), began, _messages(request), text, _RENDERED.get()))
        await asyncio.sleep(_ROUND_TRIP)
        return response

    async def stream(self, request: Request) -> Any:
        for event in response_to_events(await self.complete(request)):
            yield event

    async def aclose(self) -> None:
        pass


def _predictors(program: dspy.Module) -> list[tuple[str, Any]]:
    """Return all predictors by name, those of compiled parts among them, which DSPy's named_predictors passes over."""
    return [(name.removeprefix("self."), one) for name, one in program.named_sub_modules(dspy.Predict)]


def _without_lms(program: dspy.Module) -> dspy.Module:
    """Return the program, or a copy if any of its predictors has a language model of its own: nothing may be sent."""
    if all(one.lm is None for _, one in _predictors(program)):
        return program
    copy = program.deepcopy()
    for _, predictor in _predictors(copy):
        predictor.lm = None
    return copy


def _messages(request: Request) -> tuple[tuple[str, str], ...]:
    system = request.system
    head = system if isinstance(system, str) else "".join(part.text for part in system or ())
    shown = [("system", head)] if head else []
    return tuple(shown + [(message.role, message.text or "") for message in request.messages])
