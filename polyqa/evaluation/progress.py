"""What a long command shows while it goes on: a display, set for a block of code by `showing`."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar

from .prices import Price
from .records import Record, Took


class Display:
    """Shows nothing; subclasses show more.

    Attributes
    ----------
    shows
        Whether anything is shown: libraries that have progress bars of their own show them, too.
    """

    shows = False

    def questions(self, total: int) -> AbstractContextManager[Callable[[Record], None]]:
        """Show a run over questions; the context gives what takes each record as it comes."""
        return nullcontext(lambda record: None)

    def answers(self, total: int, price: Price | None = None) -> AbstractContextManager[Callable[[Took], None]]:
        """Show a batch of questions, and its cost if a price is known; the context gives what takes each answer."""
        return nullcontext(lambda took: None)

    def passages(self, total: int) -> AbstractContextManager[Callable[[], None]]:
        """Show a pass over passages; the context gives what counts one."""
        return nullcontext(lambda: None)

    def runs(self, total: int, text: str) -> AbstractContextManager[Callable[[], None]]:
        """Show runs of a program, with a text; the context gives what counts one."""
        return nullcontext(lambda: None)


_CURRENT: ContextVar[Display | None] = ContextVar("polyqa_display", default=None)


def display() -> Display:
    """Return the display of this context; one that shows nothing if none was set."""
    return _CURRENT.get() or Display()


@contextmanager
def showing(shown: Display) -> Iterator[None]:
    """Show what long commands do inside the block, as ``with showing(Bars()): polyqa.evaluate(...)``."""
    token = _CURRENT.set(shown)
    try:
        yield
    finally:
        _CURRENT.reset(token)
