"""Records what a program does while it answers: the calls of the language model, tokens, seconds."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import dspy
from dspy.utils.callback import BaseCallback


@dataclass(frozen=True)
class Call:
    """One call of the language model: the messages sent and the raw reply."""

    messages: list[dict[str, Any]]
    reply: str


class Recorder(BaseCallback):
    """What was recorded.

    Attributes
    ----------
    calls
        In the order in which they ended.
    input_tokens, output_tokens
        Sums over the calls, as the provider reports them (a cached reply reports none).
    seconds
        How long the recorded block took.
    """

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.input_tokens = 0
        self.output_tokens = 0
        self.seconds = 0.0
        self._open: dict[str, list[dict[str, Any]]] = {}
        self._lock = threading.Lock()

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """Keep the messages until the reply is there."""
        with self._lock:
            self._open[call_id] = _as_messages(inputs)

    def on_lm_end(self, call_id: str, outputs: Any, exception: Exception | None = None) -> None:
        """Keep the call."""
        with self._lock:
            self.calls.append(Call(self._open.pop(call_id, []), "" if outputs is None else _as_text(outputs)))


@contextmanager
def recording(lm: dspy.LM) -> Iterator[Recorder]:
    """Run the block with a language model and record its calls; complete even if the block raises.

    Callbacks that the caller set stay in force.
    """
    recorder = Recorder()
    callbacks = [*(dspy.settings.callbacks or ()), recorder]
    started = time.perf_counter()
    with (
        dspy.context(lm=lm, adapter=dspy.ChatAdapter(), callbacks=callbacks),
        dspy.track_usage() as tracker,
    ):
        try:
            yield recorder
        finally:
            recorder.seconds = time.perf_counter() - started
            totals = tracker.get_total_tokens().values()
            recorder.input_tokens = sum(int(own.get("prompt_tokens") or 0) for own in totals)
            recorder.output_tokens = sum(int(own.get("completion_tokens") or 0) for own in totals)


def _as_messages(inputs: dict[str, Any]) -> list[dict[str, Any]]:
    request = inputs.get("request")
    if request is None:
        return list(inputs.get("messages") or [{"role": "user", "content": str(inputs.get("prompt", ""))}])
    system = request.system
    head = "" if system is None else system if isinstance(system, str) else "".join(p.text for p in system)
    shown = [{"role": "system", "content": head}] if head else []
    return shown + [{"role": message.role, "content": message.text or ""} for message in request.messages]


def _as_text(outputs: Any) -> str:
    message = getattr(outputs, "message", None)
    if message is not None:
        return message.text or ""
    first = outputs[0] if isinstance(outputs, (list, tuple)) and outputs else outputs
    return str(first.get("text", first)) if isinstance(first, dict) else str(first)
