"""Waiting for something that another thread or process does."""

import time
from collections.abc import Callable


def until(holds: Callable[[], object], seconds: float = 120) -> None:
    """Return as soon as something holds; fail if it does not in so many seconds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.005)
