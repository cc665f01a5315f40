"""Records what is asked of language models: the calls, tokens, seconds; in all threads that a program starts."""

import threading
import time
from asyncio import CancelledError
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import dspy
from dspy.utils.callback import ACTIVE_CALL_ID, BaseCallback
from dspy.utils.usage_tracker import UsageTracker

from polyqa.base.needed import NotNeededError


class Usage(BaseCallback, UsageTracker):
    """Counts the requests that are sent to language models, and their tokens.

    A reply from a cache is no request; each of several replies to one prompt (``n``) is one, and so is one that was not
    waited for, because the call was made ahead and is not needed: its tokens are not known. As DSPy's usage
    tracker it is told of every request, and as a callback of the call that made it. DSPy's optimizers give each
    of their threads a copy of the tracker, whose figures are lost: a copy of this one is itself.

    Attributes
    ----------
    requests, input_tokens, output_tokens
        Sums; tokens as the provider reports them.
    tokens_of
        Name of a language model to its input and output tokens.
    """

    def __init__(self) -> None:
        super().__init__()
        self.requests = self.input_tokens = self.output_tokens = 0
        self.tokens_of: dict[str, tuple[int, int]] = {}
        self._lock = threading.RLock()
        self._answered: Counter[str | None] = Counter()
        self._outer: Any = None

    def __deepcopy__(self, memo: Any) -> "Usage":
        return self

    def add_usage(self, lm: str, usage_entry: dict[str, Any]) -> None:
        """Count the tokens of a call, here and wherever else they were counted before `counting`."""
        if self._outer is not None:
            self._outer.add_usage(lm, usage_entry)
        with self._lock:
            self._answered[ACTIVE_CALL_ID.get()] += 1
        self._add_tokens(lm, usage_entry)

    def _add_tokens(self, lm: str, usage_entry: dict[str, Any]) -> None:
        with self._lock:
            taken, given = (int(usage_entry.get(name) or 0) for name in ("prompt_tokens", "completion_tokens"))
            self.input_tokens += taken
            self.output_tokens += given
            before = self.tokens_of.get(lm, (0, 0))
            self.tokens_of[lm] = (before[0] + taken, before[1] + given)

    def on_lm_end(self, call_id: str, outputs: Any, exception: Exception | None = None) -> None:
        """Count the requests of a call: DSPy tells the usage of its replies together."""
        with self._lock:
            told = self._answered.pop(call_id, 0)
            replies = len(outputs) if isinstance(outputs, list) else 1
            self.requests += max(told, replies) if told else isinstance(exception, (NotNeededError, CancelledError))


@contextmanager
def counting(usage: Usage) -> Iterator[None]:
    """Count what is asked of language models inside the block; what counts already goes on counting."""
    usage._outer = dspy.settings.usage_tracker
    with dspy.context(usage_tracker=usage, callbacks=[*(dspy.settings.callbacks or ()), usage]):
        try:
            yield
        finally:
            for lm, entries in usage.usage_data.items():  # where a program has a tracker of its own
                for entry in entries:
                    usage._add_tokens(lm, entry)
            usage.usage_data.clear()


@dataclass(frozen=True)
class Call:
    """One call of the language model.

    Attributes
    ----------
    messages, reply
        What was sent, and the raw reply.
    predictor
        Who asked, by its name in the program; empty if that is not known.
    input_tokens, output_tokens
        As the provider reports them; ``None`` where it does not, as of a reply from a cache.
    seconds
        How long it took; ``None`` if it was not waited for. Two calls that differ only in this are equal.
    """

    messages: list[dict[str, Any]]
    reply: str
    predictor: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    seconds: float | None = field(default=None, compare=False)


@dataclass
class _Open:
    """A call that is under way."""

    messages: list[dict[str, Any]]
    predictor: str
    began: float
    input_tokens: int | None = None
    output_tokens: int | None = None

    def ended(self, reply: str, seconds: float | None) -> Call:
        return Call(self.messages, reply, self.predictor, self.input_tokens, self.output_tokens, seconds)


class Recorder(Usage):
    """What was recorded.

    Parameters
    ----------
    program
        Whose predictors are named; none if not given.

    Attributes
    ----------
    calls
        In the order in which they ended, those that a cache answered, those that failed and those that were not waited
        for among them. The last two have an empty reply.
    seconds
        How long the recorded block took.
    """

    def __init__(self, program: dspy.Module | None = None) -> None:
        super().__init__()
        self.calls: list[Call] = []
        self.seconds = 0.0
        self._names = {id(one): name for name, one in program.named_predictors()} if program is not None else {}
        self._asking: dict[str, str] = {}
        self._open: dict[str, _Open] = {}
        self._closed = False

    def _add_tokens(self, lm: str, usage_entry: dict[str, Any]) -> None:
        with self._lock:
            if self._closed:
                return
            super()._add_tokens(lm, usage_entry)
            if (call := self._open.get(ACTIVE_CALL_ID.get() or "")) is not None:
                call.input_tokens = usage_entry.get("prompt_tokens")
                call.output_tokens = usage_entry.get("completion_tokens")

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """Keep which predictor asks."""
        if (name := self._names.get(id(instance))) is not None:
            with self._lock:
                self._asking[call_id] = name

    def on_module_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        """Forget it."""
        with self._lock:
            self._asking.pop(call_id, None)

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """Keep the messages until the reply is there."""
        with self._lock:
            if not self._closed:
                asking = self._asking.get(ACTIVE_CALL_ID.get() or "", "")
                self._open[call_id] = _Open(_as_messages(inputs), asking, time.perf_counter())

    def on_lm_end(self, call_id: str, outputs: Any, exception: Exception | None = None) -> None:
        """Keep the call."""
        with self._lock:
            if self._closed:
                return
            super().on_lm_end(call_id, outputs, exception)
            if (call := self._open.pop(call_id, None)) is not None:
                reply = "" if outputs is None else _as_text(outputs)
                self.calls.append(call.ended(reply, time.perf_counter() - call.began))

    def close(self) -> None:
        """Record the calls that were not waited for; what comes of them later is not recorded."""
        with self._lock:
            self.calls += [call.ended("", None) for call in self._open.values()]
            self.requests += len(self._open)
            self._open.clear()
            self._closed = True


@contextmanager
def recording(lm: dspy.LM, program: dspy.Module | None = None) -> Iterator[Recorder]:
    """Run the block with a language model and record its calls, with the predictors of a program that made them.

    The record is complete even if the block raises.

    Callbacks that the caller set stay in force.
    """
    recorder = Recorder(program)
    started = time.perf_counter()
    try:
        with dspy.context(lm=lm), counting(recorder):
            yield recorder
    finally:
        recorder.seconds = time.perf_counter() - started
        recorder.close()


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
