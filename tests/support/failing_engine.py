"""The embedded engine, which fails where it is told to."""

import threading
from dataclasses import replace

import dspy
from dspy.lm15 import Message, Request, Response
from scripted_engine import scripted_lm

from polyqa.extractive import MODEL_NAME, ExtractiveEngine


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
    prompts
        How many different prompts of that kind fail, always; all if not given.

    Attributes
    ----------
    failed
        How many tries of each prompt failed.
    """

    def __init__(self, engine: ExtractiveEngine, field: str, how: str | Exception, *, prompts: int = 1_000) -> None:
        self.engine, self.field, self.how, self.prompts = engine, field, how, prompts
        self.failed: dict[str, int] = {}
        self._lock = threading.Lock()

    def complete(self, request: Request) -> Response:
        right = self.engine.complete(request)
        with self._lock:
            key = repr(request.messages)
            if self.field and not asks_for(request, self.field):
                return right
            if key not in self.failed and len(self.failed) >= self.prompts:
                return right
            self.failed[key] = self.failed.get(key, 0) + 1
        if isinstance(self.how, Exception):
            raise self.how
        return replace(right, id=None, message=Message.assistant(self.how), finish_reason="stop")

    def lm(self) -> dspy.LM:
        return scripted_lm(self, MODEL_NAME)
