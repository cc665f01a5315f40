"""A language model whose every call ends in time, and that sends no more requests a minute than its provider allows.

Connections are DSPy's, and so are retries and their pauses, but for calls in threads: DSPy cannot end those.
"""

import asyncio
import inspect
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from typing import Any

import anyio.from_thread
import dspy
from dspy.clients.base_lm import LM_CLASS_STATE_KEY
from dspy.lm15 import Timeouts
from dspy.utils.callback import with_callbacks
from dspy.utils.exceptions import LMError, LMProviderError, LMTimeoutError, is_retryable_lm_error

from polyqa.base.copies import Shared
from polyqa.base.needed import NotNeededError, check_needed, not_needed
from polyqa.base.text import counted
from polyqa.base.threads import in_a_daemon

from .assigned import without_secrets
from .dspy_internals import forget_oldest, lm_acall, lm_call, on_new_engine
from .errors import AsyncErrorReader, ErrorReader, explain, what_it_says
from .servers import TIMEOUT

REMEMBERED = 256
"""Calls that a language model remembers. Those that are under way at once must find theirs among them."""
_VERY_LONG = 10.0**6  # seconds
_LOOK = 0.1  # seconds
_LONGEST_PAUSE = 60.0  # seconds, of DSPy between retries, where the server asks for none


class CallTimeoutError(LMTimeoutError):
    """Raised when a call took longer than it may."""


class BusyServerError(LMProviderError):
    """Raised when a server wants no further request (``Retry-After``) for longer than the call may still take."""


class RecentLM(dspy.LM):
    """A `dspy.LM` that remembers its latest 256 calls, so that a long run takes no more memory than a short one.

    DSPy keeps 10,000 calls with their prompts and replies, of every model, of every module and of all together: some
    hundred megabytes. ``max_history_size`` of `dspy.settings` holds where it is lower.
    """

    def update_history(self, entry: dict[str, Any]) -> None:
        """Remember a call, and forget the oldest."""
        super().update_history(entry)
        forget_oldest(self, REMEMBERED)

    def dump_state(self) -> dict[str, Any]:
        """Return what DSPy writes down of a program's language models: no key, and a plain `dspy.LM` loads."""
        plain = {LM_CLASS_STATE_KEY: f"{dspy.LM.__module__}.{dspy.LM.__qualname__}"}
        return without_secrets(super().dump_state()) | plain


class BoundedLM(Shared, RecentLM):
    """A `dspy.LM` whose calls end, whatever the server does: hang, or send a byte now and then.

    DSPy's own ``timeout`` limits the wait for the next byte; here one call may take so many seconds in all, with
    its retries and the pauses between them. Waiting for a turn does not count.

    A call that timed out, or whose reply is not needed any more, is given up: with ``await`` its connection is closed
    at once; a thread goes on until the server is silent for as long, but sends nothing again.

    Parameters
    ----------
    model
        See `dspy.LM`; not for models with an engine of their own.
    timeout
        Seconds that one call may take in all, above 0.
    requests_per_minute
        Requests that go out in a minute, at even distances; as many as are made if not given. It holds for DSPy's own
        client, so a model that only LiteLLM can ask is refused then.
    settings
        More for `dspy.LM`, such as ``num_retries``.
    """

    def __init__(
        self, model: str, *, timeout: float = TIMEOUT, requests_per_minute: float | None = None, **settings: Any
    ) -> None:
        if requests_per_minute is not None:
            settings = {"engine": "lm15", **settings}
        # Not as `timeout` of DSPy, which is a part of the key of its cache: a longer one would lose all replies.
        super().__init__(model, **settings)
        self.timeout = timeout
        self._turns = _Turns(requests_per_minute)
        on_new_engine(self, self._limit)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        on_new_engine(self, self._limit)

    @property
    def num_retries(self) -> int:
        """How often a request is sent again; in a call that does so itself DSPy is told 0."""
        call = _CALL.get()
        return 0 if call is not None and call.retries else self._num_retries

    @num_retries.setter
    def num_retries(self, retries: int) -> None:
        self._num_retries = retries

    @with_callbacks
    def __call__(self, prompt: Any = None, *, messages: Any = None, **kwargs: Any) -> Any:
        """Ask as `dspy.LM` does; a call that takes too long raises `CallTimeoutError`."""
        if dspy.settings.send_stream is not None:  # belongs to this thread's event loop, where a call can be ended
            return anyio.from_thread.run(partial(self._awaited, prompt, messages=messages, **kwargs))
        # Of several replies (n) DSPy asks only for the one again that failed.
        retries = self._num_retries if {**self.kwargs, **kwargs}.get("n") in (None, 1) else 0
        call = _Call(time.monotonic() + self.timeout, retries=retries)

        def ask() -> Any:
            _CALL.set(call)
            for attempt in range(retries):
                try:
                    return lm_call(self, prompt, messages=messages, **kwargs)
                except LMError as error:
                    if not is_retryable_lm_error(error):
                        raise
                    pause = error.retry_after
                time.sleep(min(2**attempt, _LONGEST_PAUSE) if pause is None else pause)
                if call.over:
                    raise NotNeededError("the call was given up")
            return lm_call(self, prompt, messages=messages, **kwargs)

        done = in_a_daemon(ask, name="polyqa-call")  # a thread that waits for a socket cannot be ended
        try:
            while not done.done():
                if call.left <= 0:
                    raise self._too_long()
                # Not longer: what does not count for the deadline moves it while this waits.
                wait([done, *not_needed()], min(call.left, _LOOK), return_when=FIRST_COMPLETED)
                if not done.done():
                    check_needed()
        finally:
            call.over = True
        with self._explained(call):
            return done.result()

    @with_callbacks
    async def acall(self, prompt: Any = None, *, messages: Any = None, **kwargs: Any) -> Any:
        """Ask without blocking the event loop; see `__call__`."""
        return await self._awaited(prompt, messages=messages, **kwargs)

    async def _awaited(self, prompt: Any = None, *, messages: Any = None, **kwargs: Any) -> Any:
        limit = asyncio.timeout(self.timeout)
        call = _Call(time.monotonic() + self.timeout, limit)
        before = _CALL.set(call)
        try:
            with self._explained(call):
                async with limit:
                    return await lm_acall(self, prompt, messages=messages, **kwargs)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise self._too_long() from error
        finally:
            _CALL.reset(before)

    @contextmanager
    def _explained(self, call: "_Call") -> Iterator[None]:
        """Have an error of the server say what was asked, and what to do."""
        try:
            yield
        except LMError as error:
            if not isinstance(error, (CallTimeoutError, BusyServerError)):
                explain(error, self.model, call.address or self.kwargs.get("api_base"))
            raise

    def _too_long(self) -> CallTimeoutError:
        at = f" from {self.kwargs['api_base']}" if self.kwargs.get("api_base") else ""
        return CallTimeoutError(
            f"no answer{at} within {counted(self.timeout, 'second')}. Check that the server is well, or give it "
            "more time (--timeout, in Python timeout=).",
            model=self.model,
        )

    def _limit(self, engine: Any) -> None:
        """Let an engine wait as long as a call may take, and for its turn before each request."""
        longest = self.timeout + 1  # so that the call's own limit ends it
        config = replace(engine.config, timeouts=Timeouts(read=longest, write=longest))
        engine.__init__(config, model_type=engine.model_type)
        engine.router.lm = _hearing(engine.router.lm)
        for name in ("complete", "stream"):
            setattr(engine, name, _in_turn(getattr(engine, name), self._turns))


@dataclass
class _Call:
    """A call.

    When it must have ended, what ends it if it is awaited, whether nobody waits for it, the address that it asks, and
    how often it asks there again by itself.
    """

    end: float
    limit: asyncio.Timeout | None = None
    over: bool = False
    address: str = ""
    retries: int = 0

    @property
    def left(self) -> float:
        return self.end - time.monotonic()

    def extend(self, seconds: float) -> None:
        self.end += seconds
        if self.limit is not None and (end := self.limit.when()) is not None:
            self.limit.reschedule(end + seconds)


_CALL: ContextVar[_Call | None] = ContextVar("polyqa_call", default=None)


def given_up() -> bool:
    """Return whether nobody waits any more for the call that is being made here."""
    call = _CALL.get()
    return call is not None and call.over


@contextmanager
def out_of_the_deadline() -> Iterator[None]:
    """Let the time that a block takes, such as a wait for a turn, not count for the call that is being made here."""
    call, began = _CALL.get(), time.monotonic()
    if call is not None:
        call.extend(_VERY_LONG)
    try:
        yield
    finally:
        if call is not None:
            call.extend(time.monotonic() - began - _VERY_LONG)


class _Turns:
    """When requests may go out; shared by all calls of a language model, in all threads."""

    def __init__(self, per_minute: float | None) -> None:
        self._per_minute = per_minute
        self._next = 0.0
        self._lock = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._per_minute,)

    def take(self) -> float:
        """Take the next turn and return in how many seconds it is."""
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next)
            self._next = turn + (60.0 / self._per_minute if self._per_minute else 0.0)
        return turn - now


def _hearing(make: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a function that makes providers as another does, but all errors of their servers can be read."""

    def note(address: str) -> None:
        if (call := _CALL.get()) is not None:
            call.address = address

    def making(model: str) -> Any:
        provider = make(model)
        if not isinstance(provider.transport, ErrorReader):
            reader = AsyncErrorReader if hasattr(provider.transport, "aclose") else ErrorReader
            provider.transport = reader(provider.transport, note)
        return provider

    return making


def _in_turn(method: Callable[..., Any], turns: _Turns) -> Callable[..., Any]:
    """Return a method of an engine that waits for its turn. What DSPy has in its cache asks no engine."""

    async def stream(*request: Any) -> AsyncIterator[Any]:
        with out_of_the_deadline():
            await asyncio.sleep(turns.take())
        with _impatience():
            async for event in method(*request):
                yield event

    async def ask(*request: Any) -> Any:
        with out_of_the_deadline():
            await asyncio.sleep(turns.take())
        with _impatience():
            return await method(*request)

    def ask_in_thread(*request: Any) -> Any:
        with out_of_the_deadline():
            wait([Future(), *not_needed()], turns.take(), return_when=FIRST_COMPLETED)
        check_needed()
        with _impatience():
            return method(*request)

    if inspect.isasyncgenfunction(method):
        return stream
    return ask if inspect.iscoroutinefunction(method) else ask_in_thread


@contextmanager
def _impatience() -> Iterator[None]:
    """Send nothing for a call that was given up, and end one whose server wants a pause that is too long for it."""
    call = _CALL.get()
    if call is not None and call.over:
        raise NotNeededError("the call was given up")
    try:
        yield
    except dspy.lm15.LM15Error as error:
        pause = error.retry_after or 0
        if call is None or pause <= call.left:
            raise
        raise BusyServerError(
            f"the server wants no request for {counted(round(pause), 'second')} (Retry-After), longer than the call "
            f"may take. Ask again later. It says: {what_it_says(error)}.",
            provider=error.provider,
            status=error.status,
            retry_after=error.retry_after,
        ) from error
