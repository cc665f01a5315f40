"""A language model whose every call ends in time, and that sends no more requests a minute than its provider allows.

Connections, retries and their pauses are DSPy's. All calls are made in event loops, where they can be ended: those of
threads in one that they share.
"""

import asyncio
import inspect
import math
import time
from collections.abc import AsyncIterator, Callable, Iterator
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
from dspy.utils.exceptions import LMError, LMProviderError, LMTimeoutError

from polyqa.base.copies import Shared
from polyqa.base.event_loops import in_shared_loop
from polyqa.base.text import counted

from .assigned import without_secrets
from .dspy_internals import forget_oldest, lm_acall, on_new_engine
from .errors import ErrorReader, explain, what_it_says
from .servers import TIMEOUT

REMEMBERED = 256
"""Calls that a language model remembers. Those that are under way at once must find theirs among them."""


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

    A call that timed out, or whose reply is not needed any more, is given up, and its connection closed, at once.

    Parameters
    ----------
    model
        See `dspy.LM`; one with an engine of its own has to have one for ``async_engine``, which is asked.
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

    @with_callbacks
    def __call__(self, prompt: Any = None, *, messages: Any = None, **kwargs: Any) -> Any:
        """Ask as `dspy.LM` does; a call that takes too long raises `CallTimeoutError`."""
        ask = partial(self._ask, prompt, messages=messages, **kwargs)
        if dspy.settings.send_stream is not None:  # belongs to the event loop that this thread works for
            try:
                anyio.from_thread.check_cancelled()
            except RuntimeError:  # it works for none, as those of `dspy.Parallel`: the call is not streamed
                with dspy.context(send_stream=None):
                    return in_shared_loop(ask())
            return anyio.from_thread.run(ask)
        return in_shared_loop(ask())

    @with_callbacks
    async def acall(self, prompt: Any = None, *, messages: Any = None, **kwargs: Any) -> Any:
        """Ask without blocking the event loop; see `__call__`."""
        return await self._ask(prompt, messages=messages, **kwargs)

    async def _ask(self, prompt: Any, **kwargs: Any) -> Any:
        limit = asyncio.timeout(self.timeout)
        call = _Call(limit)
        before = _CALL.set(call)
        try:
            async with limit:
                return await lm_acall(self, prompt, **kwargs)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise await self._too_long() from error
        except LMError as error:
            if not isinstance(error, BusyServerError):
                explain(error, self.model, call.address or self.kwargs.get("api_base"))
            raise
        finally:
            _CALL.reset(before)

    async def _too_long(self) -> CallTimeoutError:
        """Return the error of a call that took longer than it may."""
        at = f" from {self.kwargs['api_base']}" if self.kwargs.get("api_base") else ""
        return CallTimeoutError(
            f"no answer{at} within {counted(self.timeout, 'second')}. Check that the server is well, or give it "
            "more time (--timeout, in Python timeout=).",
            model=self.model,
        )

    def _limit(self, engine: Any) -> None:
        """Let an engine wait as long as a call may take, and for its turn before each request."""
        if not inspect.iscoroutinefunction(engine.complete):
            return  # that of a call which goes round this class
        longest = self.timeout + 1  # so that the call's own limit ends it
        config = replace(engine.config, timeouts=Timeouts(read=longest, write=longest))
        engine.__init__(config, model_type=engine.model_type)
        engine.router.lm = _hearing(engine.router.lm)
        complete, stream = engine.complete, engine.stream

        async def complete_in_turn(request: Any) -> Any:
            await self._turns.wait()
            with _impatience():
                return await complete(request)

        async def stream_in_turn(request: Any) -> AsyncIterator[Any]:
            await self._turns.wait()
            with _impatience():
                async for event in stream(request):
                    yield event

        engine.complete, engine.stream = complete_in_turn, stream_in_turn


@dataclass
class _Call:
    """A call: what ends it, and the address that it asks."""

    limit: asyncio.Timeout
    address: str = ""

    @property
    def left(self) -> float:
        """The seconds that it may still take."""
        end = self.limit.when()
        return math.inf if end is None else end - asyncio.get_running_loop().time()


_CALL: ContextVar[_Call | None] = ContextVar("polyqa_call", default=None)


@contextmanager
def out_of_the_deadline() -> Iterator[None]:
    """Let the time that a block takes, such as a wait for a turn, not count for the call that is being made here."""
    call = _CALL.get()
    if call is None or call.limit.when() is None:
        yield
        return
    seconds_left = call.left
    call.limit.reschedule(None)
    try:
        yield
    finally:
        call.limit.reschedule(asyncio.get_running_loop().time() + seconds_left)


class _Turns:
    """When requests may go out; shared by all calls of a language model, in all event loops."""

    def __init__(self, per_minute: float | None) -> None:
        self._per_minute = per_minute
        self._next = 0.0
        self._lock = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._per_minute,)

    async def wait(self) -> None:
        """Take the next turn, and wait for it."""
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next)
            self._next = turn + (60.0 / self._per_minute if self._per_minute else 0.0)
        with out_of_the_deadline():
            await asyncio.sleep(turn - now)


def _hearing(make: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a function that makes providers as another does, but all errors of their servers can be read."""

    def note(address: str) -> None:
        if (call := _CALL.get()) is not None:
            call.address = address

    def making(model: str) -> Any:
        provider = make(model)
        if not isinstance(provider.transport, ErrorReader):
            provider.transport = ErrorReader(provider.transport, note)
        return provider

    return making


@contextmanager
def _impatience() -> Iterator[None]:
    """End a call whose server wants a pause that is too long for it."""
    try:
        yield
    except dspy.lm15.LM15Error as error:
        call, pause = _CALL.get(), error.retry_after or 0
        if call is None or pause <= call.left:
            raise
        raise BusyServerError(
            f"the server wants no request for {counted(round(pause), 'second')} (Retry-After), longer than the call "
            f"may take. Ask again later. It says: {what_it_says(error)}.",
            provider=error.provider,
            status=error.status,
            retry_after=error.retry_after,
        ) from error
