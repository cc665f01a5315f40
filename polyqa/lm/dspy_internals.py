"""The private parts of DSPy that polyqa touches: these, and no others (`tests/lm/test_dspy_internals.py`).

A new version of DSPy is checked here first.
"""

from collections.abc import Callable, Mapping
from typing import Any

import dspy
from dspy.clients import base_lm
from dspy.clients.execution import IGNORED_CACHE_KEYS, prepare

# 1. What `dspy.LM` does between its callbacks. Callbacks should see a call that was given up end at once, and its
# thread may go on. A public replacement: a deadline of `dspy.LM` for a whole call.
lm_call: Callable[..., Any] = dspy.LM.__call__.__wrapped__
lm_acall: Callable[..., Any] = dspy.LM.acall.__wrapped__


class _Engines(dict[Any, Any]):
    """The connections of a language model, each handed to a function before its first use."""

    def __init__(self, prepare_engine: Callable[[Any], None]) -> None:
        super().__init__()
        self._prepare_engine = prepare_engine

    def __setitem__(self, key: Any, engine: Any) -> None:
        self._prepare_engine(engine)
        super().__setitem__(key, engine)


def on_new_engine(lm: dspy.LM, prepare_engine: Callable[[Any], None]) -> None:
    """Have a function called with each engine that a language model makes for itself, before its first request."""
    # 2. A public replacement: a hook of `dspy.LM` for its engines, or a limit of requests a minute.
    lm._engine_store = _Engines(prepare_engine)


def sends_calls_itself(lm: Any) -> bool:
    """Return whether a class of the user's sends the calls of a language model, and may not ask DSPy's cache."""
    # 3. A public replacement: a hook of `dspy.LM` for requests, as above.
    kind = type(lm)
    return (kind.forward, kind.aforward) != (dspy.LM.forward, dspy.LM.aforward)


def forget_oldest(lm: dspy.LM, most: int) -> None:
    """Forget all but the latest calls, wherever DSPy remembers those of a language model."""
    # 4. A public replacement: `max_history_size` would hold for the history of all models, too.
    owners = (lm, *(dspy.settings.caller_modules or ()))
    for history in (*(owner.history for owner in owners), base_lm.GLOBAL_HISTORY):
        del history[: max(0, len(history) - most)]


def forget_reply(lm: dspy.LM, inputs: Mapping[str, Any]) -> None:
    """Have DSPy's cache answer a call no more, in memory and on disk; ``inputs`` as callbacks see them."""
    # 5. A public replacement: `dspy.cache.forget(lm, …)`, or the key of a call in its history.
    for asynchronous in (False, True):  # DSPy keeps them apart
        call = prepare(lm, inputs.get("prompt"), inputs.get("messages"), inputs.get("kwargs") or {})
        dspy.cache.put(call.key(lm, asynchronous), None, IGNORED_CACHE_KEYS)  # to it an entry that is None is none


def can_be_awaited(lm: dspy.BaseLM) -> bool:
    """Return whether a language model can be called without a thread: a class or an engine of the user's may not."""
    # 6. A public replacement: DSPy awaits a thread where there is no asynchronous engine.
    if isinstance(lm, dspy.LM):
        return isinstance(lm.engine, str) or lm._async_engine_spec is not None
    return type(lm).aforward is not dspy.BaseLM.aforward
