"""Calls whose reply is not needed any more, because the work that they belong to was stopped, as by Ctrl-C.

With ``await`` such a call is cancelled, which closes its connection. A thread cannot be cancelled: it looks here.
"""

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar

_NOT_NEEDED: ContextVar[tuple[Future[None], ...]] = ContextVar("polyqa_not_needed", default=())


class NotNeededError(BaseException):
    """Raised where the reply of a call is waited for, once it is known not to be needed.

    No `Exception`: whoever answers for failed calls, with another call or an entry in a file, has no part in this.
    """


@contextmanager
def ahead(not_needed: Future[None]) -> Iterator[None]:
    """Make calls in the block whose replies are needed only until a future is done.

    Inside another block they are needed only as long as those of that one, too.
    """
    token = _NOT_NEEDED.set((*_NOT_NEEDED.get(), not_needed))
    try:
        yield
    finally:
        _NOT_NEEDED.reset(token)


def not_needed() -> tuple[Future[None], ...]:
    """Return futures, one of which is done when the reply of the call that is being made is not needed."""
    return _NOT_NEEDED.get()


def check_needed() -> None:
    """Raise `NotNeededError` if the reply of the call that is being made is not needed any more."""
    if any(waiting.done() for waiting in _NOT_NEEDED.get()):
        raise NotNeededError("the reply of a call is not needed any more")
