"""Counts what a compilation spends, over all its threads and restarts."""

import time
from pathlib import Path
from typing import Any

from polyqa.artifacts.card import Spent
from polyqa.evaluation.recording import Usage
from polyqa.evaluation.runs import write_atomically


class Meter(Usage):
    """Counts requests, tokens and seconds, and keeps them in a file, so that a resumed compilation goes on counting.

    Parameters
    ----------
    path
        JSON; read at the start if it is there.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self._started = time.perf_counter()
        self._before = Spent.model_validate_json(path.read_bytes()) if path.exists() else Spent()

    @property
    def spent(self) -> Spent:
        """What was spent so far, before a restart, too."""
        before = self._before
        return Spent(
            calls=before.calls + self.requests,
            input_tokens=before.input_tokens + self.input_tokens,
            output_tokens=before.output_tokens + self.output_tokens,
            seconds=round(before.seconds + time.perf_counter() - self._started, 3),
        )

    def write(self) -> None:
        """Write down what was spent."""
        with self._lock:
            write_atomically(self.path, self.spent.model_dump_json())

    def on_lm_end(self, call_id: str, outputs: Any, exception: Exception | None = None) -> None:
        """Count a call and write it down."""
        super().on_lm_end(call_id, outputs, exception)
        self.write()
