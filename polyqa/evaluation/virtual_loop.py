"""An event loop whose clock stands still while anything is computed: waiting takes no time, and is counted exactly."""

import asyncio
import contextvars
import selectors
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


class _Selector(selectors.DefaultSelector):
    """Waits for events; where there is nothing but timers to wait for, the loop's clock is set forward instead."""

    loop: "VirtualLoop"

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        if self.loop.working:  # a thread may make calls when it ends: wait for it, however long it takes
            return super().select(None)
        if not (ready := super().select(0)):
            self.loop.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """Runs coroutines in virtual time: ``asyncio.sleep(1)`` returns at once, one second later by the loop's clock.

    The clock moves only when every coroutine waits and no thread of the loop (`asyncio.to_thread`) is at work, so how
    fast the machine is does not matter. What waits for something outside, such as a socket, does so in real time.

    Attributes
    ----------
    now
        Seconds since the loop was made.
    working
        Threads that are at work.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.working = 0
        self._threads = ThreadPoolExecutor(thread_name_prefix="virtual-loop")
        selector = _Selector()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        """Return the virtual time."""
        return self.now

    def run_in_executor(self, executor: Executor | None, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:  # type: ignore[override]
        """Run a function in a thread; the clock stands still until it has returned."""
        # Threads of our own: asyncio shuts its own down with a timer, which would ring at once here.
        future = super().run_in_executor(executor or self._threads, func, *args)
        self.working += 1
        future.add_done_callback(self._has_worked)
        return future

    def _has_worked(self, future: object) -> None:
        self.working -= 1

    def close(self) -> None:
        """End the threads and close the loop."""
        self._threads.shutdown(wait=True)
        super().close()


def run_virtually(main: Callable[[], Coroutine[Any, Any, T]]) -> tuple[T, float]:
    """Run what a function makes, a coroutine, to its end; return its result and the virtual seconds that it took.

    It runs in a thread of its own with a copy of this context, so that it may be called where an event loop runs, too.
    """

    def run() -> tuple[T, float]:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            result = runner.run(main())
            return result, runner.get_loop().time()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(contextvars.copy_context().run, run).result()
