"""Counts what a compilation spends, over all its threads and restarts."""

import json
import threading
from pathlib import Path
from typing import Any

from dspy.utils.callback import BaseCallback

from polyqa.artifacts.card import Spent
from polyqa.evaluation.runs import write_atomically

_RECENT = 64  # entries of a model's history that concurrent calls may have added since the last look


class Meter(BaseCallback):
    """Counts calls, tokens and seconds, and keeps them in a file, so that a resumed compilation goes on counting.

    Parameters
    ----------
    path
        JSON; read at the start if it is there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._asked: dict[str, Any] = {}
        self._counted: set[str] = set()
        self.spent = Spent(**json.loads(path.read_text())) if path.exists() else Spent()

    def add(self, *, calls: int = 0, input_tokens: int = 0, output_tokens: int = 0, seconds: float = 0.0) -> None:
        """Add to what was spent and write it down."""
        with self._lock:
            own = self.spent
            self.spent = Spent(
                calls=own.calls + calls,
                input_tokens=own.input_tokens + input_tokens,
                output_tokens=own.output_tokens + output_tokens,
                seconds=round(own.seconds + seconds, 3),
            )
            write_atomically(self.path, self.spent.model_dump_json())

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """Remember which language model was asked."""
        with self._lock:
            self._asked[call_id] = instance

    def on_lm_end(self, call_id: str, outputs: Any, exception: Exception | None = None) -> None:
        """Count a call, or the calls for several replies, and the tokens; a reply from the cache reports none."""
        with self._lock:
            history = list(getattr(self._asked.pop(call_id, None), "history", ()))[-_RECENT:]
            fresh = [entry for entry in history if entry.get("uuid") not in self._counted]
            self._counted.update(entry["uuid"] for entry in fresh)
        made = [entry for entry in fresh if entry.get("usage")]
        usages = [entry["usage"] for entry in made]
        self.add(
            calls=sum(len(entry.get("outputs") or (1,)) for entry in made),  # each of n replies is a request
            input_tokens=sum(int(usage.get("prompt_tokens") or 0) for usage in usages),
            output_tokens=sum(int(usage.get("completion_tokens") or 0) for usage in usages),
        )
