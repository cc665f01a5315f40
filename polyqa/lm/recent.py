"""A language model that remembers its latest calls only, so that a long run takes no more memory than a short one."""

from typing import Any

import dspy
from dspy.clients import base_lm
from dspy.clients.base_lm import LM_CLASS_STATE_KEY

KEPT = 256
"""Calls that a language model remembers. Those that are under way at once must find theirs among them."""


class RecentLM(dspy.LM):
    """A `dspy.LM` that remembers its latest 256 calls.

    DSPy keeps 10,000 calls with their prompts and replies, of every model, of every module and of all together: some
    hundred megabytes. ``max_history_size`` of `dspy.settings` holds where it is lower. What records calls while they
    are made (`polyqa.lm.recorder`) is told of every one.
    """

    def update_history(self, entry: dict[str, Any]) -> None:
        """Remember a call, and forget the oldest."""
        super().update_history(entry)
        owners = (self, *(dspy.settings.caller_modules or ()))
        for history in (*(owner.history for owner in owners), base_lm.GLOBAL_HISTORY):
            del history[: max(0, len(history) - KEPT)]

    def dump_state(self) -> dict[str, Any]:
        """Return what DSPy writes down where a program is saved with its language models; a plain `dspy.LM` loads."""
        return {**super().dump_state(), LM_CLASS_STATE_KEY: f"{dspy.LM.__module__}.{dspy.LM.__qualname__}"}
