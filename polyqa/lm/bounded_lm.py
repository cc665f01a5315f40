"""A language model whose every call ends: after so many seconds, and so many tries, with an error that says so."""

import asyncio
import math
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from threading import Thread
from typing import Any, TypeVar

import dspy
from dspy.utils.callback import with_callbacks
from dspy.utils.exceptions import LMError, LMTimeoutError, is_retryable_lm_error

from polyqa.base.errors import PolyqaError
from polyqa.base.needed import check_needed, not_needed
from polyqa.base.text import counted
from polyqa.lm.assigned import without_secrets
from polyqa.lm.recent import RecentLM

from .bounded_http import MEGABYTE, Engines, SilentServerError, WireLimits
from .model_catalogue import remember_models
from .pacing import CLOCK, Clock, Pace, sleep

LONGEST_WAIT = 60.0
"""Seconds for which a server may have its caller wait before the next request (``Retry-After``)."""
_LONGEST_DOUBLING = 6  # pauses of 1, 2, 4 … 64 seconds, as DSPy's
T = TypeVar("T")
_CALL, _ACALL = dspy.LM.__call__.__wrapped__, dspy.LM.acall.__wrapped__  # callbacks see a call once, not every try


@dataclass(frozen=True)
class Limits:
    """What a call of a language model may take; each value is above 0.

    Attributes
    ----------
    connect
        Seconds until a connection stands.
    read
        Seconds of silence: before the first byte of a reply, and between two.
    total
        Seconds that the requests of one call take together, whatever the server does meanwhile.
    reply
        Megabytes of a reply.
    retries
        How often a request that failed, but not by the user's fault, is sent again; at least 0.
    per_minute
        Requests that go out in a minute, at even distances; as many as are made if not given.

    Raises
    ------
    PolyqaError
        If a value is out of its range.
    """

    connect: float = 10.0
    read: float = 120.0
    total: float = 300.0
    reply: float = 4.0
    retries: int = 3
    per_minute: float | None = None

    def __post_init__(self) -> None:
        for option, value, unit in (
            ("--connect-timeout", self.connect, "seconds"),
            ("--read-timeout", self.read, "seconds"),
            ("--timeout", self.total, "seconds"),
            ("--max-reply", self.reply, "megabytes"),
        ):
            if not 0 < value < math.inf:
                raise PolyqaError(f"{option} is a number of {unit} above 0, not {value}.")
        if self.retries < 0:
            raise PolyqaError(f"--retries is at least 0, not {self.retries}.")
        if self.per_minute is not None and not 0 < self.per_minute < math.inf:
            raise PolyqaError(f"--requests-per-minute is a number above 0, not {self.per_minute}.")


class CallTimeoutError(LMTimeoutError):
    """Raised when a call took longer than it may."""


class BoundedLM(RecentLM):
    """A `dspy.LM` whose calls end, in time and in size.

    The timeouts of HTTP clients are about the wait for the next byte: a server that sends one now and then keeps its
    caller for ever. Here the requests of one call, tried again or not, take so many seconds together. The pauses
    between them do not count: 1, 2, 4 … seconds, or what a server that is asked too often wants, at most 60. If it
    wants more (or more than the whole call may take), its error is raised at once. While one call waits because the
    server wants it, none is made of this model; that wait, and one for a turn, does not count either.

    A call that has timed out, or was made ahead and is not needed, is given up. Its connection is closed: with
    ``await`` at once, else when the next byte comes, or none for as long as a server may be silent. It sends nothing
    again. The limits of silence and of size are those of DSPy's own client; providers that it does not know are asked
    by way of LiteLLM, whose calls end in time, too, but whose connection goes on for up to 10 minutes without a byte.

    Parameters
    ----------
    model
        See `dspy.LM`; not for models with an engine of their own.
    limits
        What a call may take.
    settings
        More for `dspy.LM`.
    """

    def __init__(self, model: str, *, limits: Limits = Limits(), **settings: Any) -> None:
        # Not DSPy's `timeout`, which is a part of the key of its cache: a longer one would lose all replies.
        super().__init__(model, **settings, num_retries=0)
        remember_models()
        self.limits = limits
        self._pace = Pace(limits.per_minute)
        self._engine_store = self._engines()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_pace"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        remember_models()
        self._pace = Pace(self.limits.per_minute)
        self._engine_store = self._engines()

    def _engines(self) -> Engines:
        limits = self.limits
        # Where the whole call may take less, its own limit is told, and the connection ends soon after.
        connect, read = min(limits.connect, limits.total + 1), min(limits.read, limits.total + 1)
        return Engines(WireLimits(connect, read, int(limits.reply * MEGABYTE)), self._pace)

    @with_callbacks
    def __call__(self, prompt: Any = None, *, messages: Any = None, **kwargs: Any) -> Any:
        """Ask; see `dspy.LM`.

        Raises
        ------
        CallTimeoutError
            If the call takes too long.
        """
        call = partial(_CALL, self, prompt, messages=messages, **kwargs)
        if dspy.settings.send_stream is not None:  # belongs to this thread, and whoever listens sees that it goes on
            return call()
        left = self.limits.total
        for attempt in range(self.limits.retries + 1):
            check_needed()
            clock = Clock(left)
            try:
                return _call_within(clock, call, self._too_long)
            except LMError as error:
                left = clock.left
                pause = self._pause(error, attempt, left)
            sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    @with_callbacks
    async def acall(self, prompt: Any = None, *, messages: Any = None, **kwargs: Any) -> Any:
        """Ask without blocking the event loop; see `__call__`."""
        left = self.limits.total
        for attempt in range(self.limits.retries + 1):
            limit = asyncio.timeout(left)
            clock = Clock(left, limit)
            before = CLOCK.set(clock)
            try:
                async with limit:
                    return await _ACALL(self, prompt, messages=messages, **kwargs)
            except TimeoutError as error:
                if not limit.expired():
                    raise
                raise self._too_long() from error
            except LMError as error:
                left = clock.left
                pause = self._pause(error, attempt, left)
            finally:
                CLOCK.reset(before)
            await asyncio.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    def __deepcopy__(self, memo: Any) -> "BoundedLM":
        """Return this model: the copies that optimizers make of a program share its connections, not its history."""
        return self

    def dump_state(self) -> dict[str, Any]:
        """Return what DSPy writes down where a program is saved with its language models: no key, no secret.

        It is loaded as a plain `dspy.LM`.
        """
        return {**without_secrets(super().dump_state()), "num_retries": self.limits.retries}

    def _pause(self, error: LMError, attempt: int, left: float) -> float:
        """Return for how long to wait before the next attempt; raise the error if there is to be none."""
        if isinstance(error.__cause__, SilentServerError):  # it may still be at work, and paid for it
            raise CallTimeoutError(error.message, model=self.model) from error
        if attempt == self.limits.retries or not is_retryable_lm_error(error) or isinstance(error, CallTimeoutError):
            raise error
        if left <= 0:
            raise self._too_long() from error
        asked = getattr(error, "retry_after", None)
        if asked is None:
            return float(2 ** min(attempt, _LONGEST_DOUBLING))
        most = min(LONGEST_WAIT, self.limits.total)
        if asked > most:
            raise type(error)(
                f"the server wants no request for {counted(round(asked), 'second')} (Retry-After), and polyqa "
                f"waits {most:g} at most. Ask again later. It says: {error.message}",
                model=self.model,
                provider=error.provider,
                status=error.status,
                retry_after=asked,
            ) from error
        self._pace.hold(asked)
        return float(asked)

    def _too_long(self) -> CallTimeoutError:
        return CallTimeoutError(
            f"no answer within {counted(self.limits.total, 'second')}. Check that the server is well, or give it "
            "more time (--timeout, in Python timeout=).",
            model=self.model,
        )


def _call_within(clock: Clock, function: Callable[[], T], too_long: Callable[[], Exception]) -> T:
    """Call a function in a thread and return what it returns, or raise what it raises, if that is in time.

    A thread that waits for a socket cannot be ended. It is a daemon, so that a program that ends does not wait for it.
    """
    done: Future[T] = Future()

    def run() -> None:
        CLOCK.set(clock)
        try:
            done.set_result(function())
        except BaseException as error:
            done.set_exception(error)

    Thread(target=copy_context().run, args=(run,), name="polyqa-call", daemon=True).start()
    while not done.done() and (left := clock.left) > 0:
        ended: list[Future[Any]] = [done, *not_needed()]
        wait(ended, left, return_when=FIRST_COMPLETED)
        if not done.done():
            check_needed()
    if not done.done():
        raise too_long()
    return done.result()
