"""An engine that answers some calls, and then no more until it is released: a server that hangs."""

import threading
from typing import Any

from dspy.lm15 import Request, Response
from openai_server import Engine


class Hanging:
    """Serves an engine that hangs after so many calls; counts those that were answered, and those that hang."""

    def __init__(self, engine: Engine, after: int) -> None:
        self.engine, self.after = engine, after
        self.answered = self.hanging = 0
        self.released = threading.Event()
        self._lock = threading.Lock()

    def complete(self, request: Request) -> Response:
        with self._lock:
            hangs = self.answered >= self.after and not self.released.is_set()
            self.hanging += hangs
            self.answered += not hangs
        if hangs:
            self.released.wait(600)
        return self.engine.complete(request)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)
