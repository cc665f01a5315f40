"""A language model whose every call ends: after so many seconds, and so many tries, with an error that says so."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextvars import copy_context
from functools import partial
from threading import Thread
from typing import Any, TypeVar

import dspy
from dspy.clients.base_lm import LM_CLASS_STATE_KEY
from dspy.utils.callback import with_callbacks
from dspy.utils.exceptions import LMError, LMTimeoutError, is_retryable_lm_error

from polyqa.artifacts.lms import without_secrets

TIMEOUT = 120.0
RETRIES = 3
_LONGEST_DOUBLING = 6  # pauses of 1, 2, 4 … 64 seconds, as DSPy's
T = TypeVar("T")
_CALL, _ACALL = dspy.LM.__call__.__wrapped__, dspy.LM.acall.__wrapped__  # callbacks see a call once, not every try


class CallTimeoutError(LMTimeoutError):
    """Raised when a call took longer than it may."""


class BoundedLM(dspy.LM):
    """A `dspy.LM` whose calls end in time.

    The timeouts of HTTP clients, DSPy's among them, are about the wait for the next byte: a server that sends one now
    and then keeps its caller for ever. Here the requests of one call, tried again or not, take so many seconds
    together. The pauses between them do not count: 1, 2, 4 … seconds, or what a server that is asked too often wants.
    If that is more than ``timeout``, its error is raised at once.

    A call that has timed out is given up. Called with ``await`` its connection is closed; else its thread goes on until
    the server or DSPy ends it (10 minutes without a byte), and sends nothing again.

    Parameters
    ----------
    model
        See `dspy.LM`; not for models with an engine of their own.
    timeout
        Seconds, above 0. Connecting may take 10 of them.
    retries
        How often a request that failed, but not by the user's fault, is sent again.
    settings
        More for `dspy.LM`.
    """

    def __init__(self, model: str, *, timeout: float = TIMEOUT, retries: int = RETRIES, **settings: Any) -> None:
        # Not DSPy's `timeout`, which is a part of the key of its cache: a longer one would lose all replies.
        super().__init__(model, **settings, num_retries=0)
        self._seconds = timeout
        self._retries = retries

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
        left = self._seconds
        for attempt in range(self._retries + 1):
            started = time.monotonic()
            try:
                return _call_within(left, call, self._too_long)
            except LMError as error:
                left -= time.monotonic() - started
                pause = self._pause(error, attempt, left)
            time.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    @with_callbacks
    async def acall(self, prompt: Any = None, *, messages: Any = None, **kwargs: Any) -> Any:
        """Ask without blocking the event loop; see `__call__`."""
        left = self._seconds
        for attempt in range(self._retries + 1):
            started = time.monotonic()
            try:
                async with asyncio.timeout(left) as limit:
                    return await _ACALL(self, prompt, messages=messages, **kwargs)
            except TimeoutError as error:
                if not limit.expired():
                    raise
                raise self._too_long() from error
            except LMError as error:
                left -= time.monotonic() - started
                pause = self._pause(error, attempt, left)
            await asyncio.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    def __deepcopy__(self, memo: Any) -> "BoundedLM":
        """Return this model: the copies that optimizers make of a program share its connections, not its history."""
        return self

    def dump_state(self) -> dict[str, Any]:
        """Return what DSPy writes down where a program is saved with its language models: no key, no secret.

        It is loaded as a plain `dspy.LM`.
        """
        own = {**without_secrets(super().dump_state()), "num_retries": self._retries}
        return own | {LM_CLASS_STATE_KEY: f"{dspy.LM.__module__}.{dspy.LM.__qualname__}"}

    def _pause(self, error: LMError, attempt: int, left: float) -> float:
        """Return for how long to wait before the next attempt; raise the error if there is to be none."""
        if attempt == self._retries or not is_retryable_lm_error(error) or isinstance(error, CallTimeoutError):
            raise error
        if left <= 0:
            raise self._too_long() from error
        asked = getattr(error, "retry_after", None)
        if asked is None:
            return float(2 ** min(attempt, _LONGEST_DOUBLING))
        if asked > self._seconds:
            raise error
        return float(asked)

    def _too_long(self) -> CallTimeoutError:
        return CallTimeoutError(
            f"no answer within {self._seconds:g} seconds. Check that the server is well, or give it more time "
            "(--timeout, in Python timeout=).",
            model=self.model,
        )


def _call_within(seconds: float, function: Callable[[], T], too_long: Callable[[], Exception]) -> T:
    """Call a function in a thread and return what it returns, or raise what it raises, if that is in time.

    A thread that waits for a socket cannot be ended. It is a daemon, so that a program that ends does not wait for it.
    """
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(function())
        except BaseException as error:
            done.set_exception(error)

    Thread(target=copy_context().run, args=(run,), name="polyqa-call", daemon=True).start()
    if not wait([done], seconds).done:
        raise too_long()
    return done.result()
