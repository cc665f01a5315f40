"""An engine that fails, as a server does in an outage, from some call on until it is mended."""

import threading
from collections.abc import Callable
from typing import Any

from dspy.lm15 import Request, Response
from openai_server import Engine, Wire


class Outage:
    """Serves an engine.

    Parameters
    ----------
    engine
        Answers.
    fails
        Given the number of a call, from 0, whether it fails.
    status
        What the server sends then.
    """

    def __init__(self, engine: Engine, fails: Callable[[int], bool], status: int = 500) -> None:
        self.engine = engine
        self.fails = fails
        self.status = status
        self.calls = 0
        self._lock = threading.Lock()

    def complete(self, request: Request) -> Response:
        with self._lock:
            number, self.calls = self.calls, self.calls + 1
        if self.fails(number):
            raise Wire('{"error": {"message": "it is out of order"}}', self.status)
        return self.engine.complete(request)

    def mend(self) -> None:
        """Fail no more, and count from 0."""
        self.fails = lambda number: False
        self.calls = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)
