"""The embedded engine, which fails where it is told to."""

import threading

import dspy
from dspy.lm15 import FinishReason, Message, Request, Response

from polyqa.extractive import AsyncExtractiveEngine, ExtractiveEngine


def asks_for(request: Request, field: str) -> bool:
    """Return whether a prompt of `LeanAdapter` asks for an output field."""
    system = request.system if isinstance(request.system, str) else "".join(part.text for part in request.system or ())
    asked = system[system.rindex("You reply ") :]
    return any(line.removeprefix("## ").startswith(f"{field} (") for line in asked.splitlines())


class Failing:
    """The embedded engine, which fails where it is asked for a field.

    Parameters
    ----------
    field
        Of the calls that fail; all calls if empty.
    how
        The text of the reply, or the error that is raised.
    finish_reason
        Why the reply ended.
    prompts
        How many different prompts of that kind fail, always; all if not given.
    tries
        How many tries of each prompt fail.
    after
        How many calls are answered well before.

    Attributes
    ----------
    failed
        How many tries of each prompt failed.
    in_turn
        What the first failures are, before ``how``.
    """

    def __init__(
        self,
        engine: ExtractiveEngine,
        field: str,
        how: str | Exception,
        *,
        prompts: int = 1_000,
        tries: int = 1_000,
        finish_reason: FinishReason = "stop",
        after: int = 0,
    ) -> None:
        self.after = after
        self.in_turn: list[str | Exception] = []
        self.finish_reason: FinishReason = finish_reason
        self.engine, self.field, self.how, self.prompts, self.tries = engine, field, how, prompts, tries
        self.failed: dict[str, int] = {}
        self.calls = 0
        self._lock = threading.Lock()

    def complete(self, request: Request) -> Response:
        right = self.engine.complete(request)
        with self._lock:
            self.calls += 1
            if self.calls <= self.after or (self.field and not asks_for(request, self.field)):
                return right
            key = repr(request.messages)
            if key not in self.failed and len(self.failed) >= self.prompts:
                return right
            self.failed[key] = self.failed.get(key, 0) + 1
            if self.failed[key] > self.tries:
                return right
            how = self.in_turn.pop(0) if self.in_turn else self.how
        if isinstance(how, Exception):
            raise how
        return Response(
            id=None,
            model=right.model,
            message=Message.assistant(how),
            finish_reason=self.finish_reason,
            usage=right.usage,
        )

    def lm(self) -> dspy.LM:
        background = AsyncExtractiveEngine(self)
        return dspy.LM("polyqa/extractive", engine=self, async_engine=background, cache=False, num_retries=0)
