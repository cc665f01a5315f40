"""What happens while a program runs, as typed events, and two that listen: one counts usage, one records calls.

`Events` is the one callback that polyqa gives DSPy. Whoever wants to know what happens is a `Listener`: usage,
recordings, `polyqa.lm.exchanges`, the page's steps and MLflow's spans.
"""

import threading
import time
from asyncio import CancelledError
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import dspy
from dspy.utils.callback import ACTIVE_CALL_ID, BaseCallback
from dspy.utils.usage_tracker import UsageTracker

from polyqa.base.copies import Shared
from polyqa.base.needed import NotNeededError


@dataclass(frozen=True)
class Started:
    """A program, predictor, search or language model has been called.

    ``predictor`` is its name in the program if it is one; of a language model the name of the predictor that asks.
    Empty if it is not known.
    """

    id: str
    instance: Any
    inputs: dict[str, Any]
    predictor: str
    at: float  # as of `time.perf_counter`


@dataclass(frozen=True)
class Ended:
    """A call has ended, with outputs or an error."""

    start: Started
    outputs: Any
    error: BaseException | None
    seconds: float


@dataclass(frozen=True)
class TokensUsed:
    """A language model has replied to a request; a cache has no part in this."""

    call: Started | None  # that the request belongs to; `None` if it has ended or is not known
    input_tokens: int | None  # `None` where the provider does not report them
    output_tokens: int | None


class Listener:
    """Hears of events, in any thread; this one does nothing."""

    def module_started(self, event: Started) -> None:
        """Hear that a program, predictor, search or reranking begins."""

    def module_ended(self, event: Ended) -> None:
        """Hear that it has ended."""

    def call_started(self, event: Started) -> None:
        """Hear that a language model is called."""

    def call_ended(self, event: Ended) -> None:
        """Hear that the call has ended."""

    def tokens_used(self, event: TokensUsed) -> None:
        """Hear what a request took."""


class Events(Shared, BaseCallback, UsageTracker):
    """Makes events of DSPy's callbacks, and of its usage tracker if it is set as that (`counting`), for a listener.

    DSPy's optimizers give each of their threads a copy of the tracker, whose figures are lost: a copy of this one is
    itself. Predictors have their names in ``program``, if that is not given in the programs that are called.
    """

    def __init__(self, listener: Listener, program: dspy.Module | None = None) -> None:
        super().__init__()
        self.listener = listener
        self._program = program
        self._names = _predictor_names(program) if program is not None else {}
        self._open: dict[str, Started] = {}
        self._outer: Any = None

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """Tell that a module, a search or reranking begins."""
        if self._program is None and isinstance(instance, dspy.Module) and not isinstance(instance, dspy.Predict):
            self._names = _predictor_names(instance) | self._names
        event = Started(call_id, instance, inputs, self._names.get(id(instance), ""), time.perf_counter())
        self._start(self.listener.module_started, event)

    def on_module_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        """Tell that it has ended."""
        self._end(self.listener.module_ended, call_id, outputs, exception)

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """Tell that a language model is called."""
        around = self._open.get(ACTIVE_CALL_ID.get() or "")
        predictor = "" if around is None else around.predictor
        self._start(self.listener.call_started, Started(call_id, instance, inputs, predictor, time.perf_counter()))

    def on_lm_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        """Tell that the call has ended."""
        self._end(self.listener.call_ended, call_id, outputs, exception)

    def add_usage(self, lm: str, usage_entry: dict[str, Any]) -> None:
        """Tell what a request took."""
        self._tell_usage(lm, self._open.get(ACTIVE_CALL_ID.get() or ""), usage_entry)

    def _start(self, tell: Callable[[Started], None], event: Started) -> None:
        self._open[event.id] = event
        tell(event)

    def _end(self, tell: Callable[[Ended], None], call_id: str, outputs: Any, error: BaseException | None) -> None:
        if (start := self._open.pop(call_id, None)) is not None:
            tell(Ended(start, outputs, error, time.perf_counter() - start.at))

    def _tell_usage(self, lm: str, call: Started | None, entry: dict[str, Any]) -> None:
        """Tell what a request took, here and wherever usage was tracked before `counting`."""
        if self._outer is not None:
            self._outer.add_usage(lm, entry)
        self.listener.tokens_used(TokensUsed(call, entry.get("prompt_tokens"), entry.get("completion_tokens")))


def _predictor_names(program: dspy.Module) -> dict[int, str]:
    return {id(predictor): name for name, predictor in program.named_predictors()}


@contextmanager
def listening(listener: Listener, program: dspy.Module | None = None) -> Iterator[Events]:
    """Have a listener hear of what happens in the block, but for tokens; callbacks that the caller set stay."""
    events = Events(listener, program)
    with dspy.context(callbacks=[*(dspy.settings.callbacks or ()), events]):
        yield events


class Usage(Listener):
    """Counts the requests that are sent to language models, and their tokens.

    A reply from a cache is no request; each of several replies to one prompt (``n``) is one, and so is one that was not
    waited for because the call was given up: its tokens are not known.

    Attributes
    ----------
    requests, input_tokens, output_tokens, cached
        Sums: tokens as the provider reports them, calls that a cache answered.
    """

    def __init__(self) -> None:
        self.requests = self.input_tokens = self.output_tokens = self.cached = 0
        self._lock = threading.RLock()
        self._replied: Counter[str] = Counter()

    def tokens_used(self, event: TokensUsed) -> None:
        """Count the tokens of a request."""
        with self._lock:
            if event.call is not None:
                self._replied[event.call.id] += 1
            self.input_tokens += event.input_tokens or 0
            self.output_tokens += event.output_tokens or 0

    def call_ended(self, event: Ended) -> None:
        """Count the requests of a call: DSPy tells the usage of its replies together."""
        with self._lock:
            reported = self._replied.pop(event.start.id, 0)
            if reported:
                self.requests += max(reported, len(event.outputs) if isinstance(event.outputs, list) else 1)
            elif isinstance(event.error, (NotNeededError, CancelledError)):
                self.requests += 1
            elif event.error is None:
                self.cached += 1


@contextmanager
def counting(usage: Usage, program: dspy.Module | None = None) -> Iterator[None]:
    """Count what is asked of language models inside the block; what counts already goes on counting."""
    with listening(usage, program) as events:
        events._outer = dspy.settings.usage_tracker
        try:
            with dspy.context(usage_tracker=events):
                yield
        finally:
            for lm, entries in events.usage_data.items():  # where a program has a tracker of its own
                for entry in entries:
                    events._tell_usage(lm, None, entry)


def usage_here() -> Usage | None:
    """Return what counts usage in this context, ``None`` if nothing does."""
    tracker = dspy.settings.usage_tracker
    return tracker.listener if isinstance(tracker, Events) and isinstance(tracker.listener, Usage) else None


@dataclass(frozen=True)
class Call:
    """One call of the language model: what was sent, the raw reply, and who asked, by its name in the program.

    Tokens are ``None`` where the provider reports none, as of a reply from a cache, seconds if it was not waited for.
    """

    messages: list[dict[str, Any]]
    reply: str
    predictor: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    seconds: float | None = field(default=None, compare=False)


class Recorder(Usage):
    """What was recorded: calls in the order in which they ended, and how many seconds the block took.

    Those that a cache answered, those that failed and those that were not waited for are among them; the last two have
    an empty reply.
    """

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []
        self.seconds = 0.0
        self._open: dict[str, Started] = {}
        self._tokens: dict[str, TokensUsed] = {}
        self._closed = False

    def call_started(self, event: Started) -> None:
        """Remember a call until the reply is there."""
        with self._lock:
            if not self._closed:
                self._open[event.id] = event

    def tokens_used(self, event: TokensUsed) -> None:
        """Count the tokens of a request."""
        with self._lock:
            if not self._closed:
                super().tokens_used(event)
                if event.call is not None:
                    self._tokens[event.call.id] = event

    def call_ended(self, event: Ended) -> None:
        """Record the call."""
        with self._lock:
            if not self._closed and self._open.pop(event.start.id, None) is not None:
                super().call_ended(event)
                self._record(event.start, reply_text(event.outputs), event.seconds)

    def close(self) -> None:
        """Record the calls that were not waited for; what comes of them later is not recorded."""
        with self._lock:
            for start in self._open.values():
                self._record(start, "", None)
            self.requests += len(self._open)
            self._open.clear()
            self._closed = True

    def _record(self, start: Started, reply: str, seconds: float | None) -> None:
        used = self._tokens.pop(start.id, None)
        tokens = (None, None) if used is None else (used.input_tokens, used.output_tokens)
        self.calls.append(Call(_messages(start.inputs), reply, start.predictor, *tokens, seconds))


@contextmanager
def recording(lm: dspy.LM, program: dspy.Module | None = None) -> Iterator[Recorder]:
    """Run the block with a language model and record its calls, with the predictors of a program that made them.

    The record is complete even if the block raises. Callbacks that the caller set stay in force. DSPy's trace is one of
    this block: the one that all share by default keeps the inputs and the predictions of 10,000 calls.
    """
    recorder = Recorder()
    started = time.perf_counter()
    try:
        with dspy.context(lm=lm, trace=[]), counting(recorder, program):
            yield recorder
    finally:
        recorder.seconds = time.perf_counter() - started
        recorder.close()


def reply_text(outputs: Any) -> str:
    """Return the text of the first reply, from what a call of a language model returns; empty if it has none.

    Thoughts are no part of it, nor calls of tools.
    """
    if isinstance(outputs, dspy.lm15.Response):
        return "".join(part.text for part in outputs.message.parts if part.type == "text")
    first = next(iter(outputs), None) if isinstance(outputs, (list, tuple)) else outputs
    text = first.get("text", first) if isinstance(first, dict) else first
    return "" if text is None else str(text)


def member(value: Any, name: str) -> Any:
    """Return a part of what LiteLLM returns, or DSPy's own client: they agree but for mappings."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _messages(inputs: dict[str, Any]) -> list[dict[str, Any]]:
    request = inputs.get("prompt")
    if isinstance(request, dspy.lm15.Request):
        return messages_of(request)
    return list(inputs.get("messages") or [{"role": "user", "content": str(inputs.get("prompt", ""))}])


def messages_of(request: dspy.lm15.Request) -> list[dict[str, Any]]:
    """Return role and text of the messages of a request, the system message first if there is one."""
    system = request.system
    head = "" if system is None else system if isinstance(system, str) else "".join(part.text for part in system)
    before = [{"role": "system", "content": head}] if head else []
    return before + [{"role": message.role, "content": message.text or ""} for message in request.messages]
