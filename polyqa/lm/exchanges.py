"""What goes to and comes from language models in a block: replies that break off are known, unreadable ones forgotten.

DSPy's cache keeps every reply, also one that its adapter cannot read: whoever asks again gets the same reply, from this
process or a later one.
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import dspy
from dspy.clients.execution import IGNORED_CACHE_KEYS, prepare
from dspy.utils.callback import BaseCallback
from dspy.utils.exceptions import AdapterParseError

UNREADABLE = (AdapterParseError, ValueError, RecursionError)
"""What is raised for a reply that cannot be read: by adapters, or by the types and parsers that they are made of."""
_RECENT = 64  # entries of a language model's history among which a call is looked for


class Exchange(BaseCallback):
    """The calls of language models that were made in a block.

    Attributes
    ----------
    cut
        Whether the last reply that came broke off because it had as many tokens as it may have. Where DSPy's history
        is switched off this is not known, and ``False``.
    reply
        The text of that reply.
    """

    def __init__(self) -> None:
        self.cut = False
        self.reply = ""
        self._calls: dict[str, tuple[dspy.LM, Mapping[str, Any]]] = {}
        self._lock = threading.Lock()

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """Keep what is asked."""
        with self._lock:
            self._calls[call_id] = (instance, inputs)

    def on_lm_end(self, call_id: str, outputs: Any, exception: Exception | None = None) -> None:
        """Look up why the reply ended."""
        with self._lock:
            call = self._calls.get(call_id)
            if exception is None and call is not None:
                self.cut = _ended_because(*call) == "length"
                self.reply = _text(outputs)

    def forget(self) -> None:
        """Remove the replies of all calls from DSPy's cache, in memory and on disk."""
        with self._lock:
            for lm, inputs in self._calls.values():
                for key in _cache_keys(lm, inputs):
                    with dspy.cache._lock:
                        dspy.cache.memory_cache.pop(key, None)
                    dspy.cache.disk_cache.pop(key, None)


@contextmanager
def exchanging() -> Iterator[Exchange]:
    """Watch the calls that are made in the block; if a reply cannot be read, none of them stays in DSPy's cache."""
    exchange = Exchange()
    with dspy.context(callbacks=[*(dspy.settings.callbacks or ()), exchange]):
        try:
            yield exchange
        except UNREADABLE:
            exchange.forget()
            raise


def _cache_keys(lm: dspy.LM, inputs: Mapping[str, Any]) -> Iterator[str]:
    for asynchronous in (False, True):  # DSPy keeps them apart
        call = prepare(lm, inputs.get("prompt"), inputs.get("messages"), inputs.get("kwargs") or {})
        yield dspy.cache.cache_key(call.key(lm, asynchronous), IGNORED_CACHE_KEYS)


def _ended_because(lm: dspy.LM, inputs: Mapping[str, Any]) -> str:
    messages = inputs.get("messages")
    entries = reversed(lm.history[-_RECENT:]) if messages else ()
    response = next((entry["response"] for entry in entries if entry["messages"] is messages), None)
    choices = _get(response, "choices") or [response]  # as LiteLLM has it, or as DSPy's own client
    return str(_get(choices[0], "finish_reason") or "")


def _text(outputs: Any) -> str:
    first = outputs[0] if isinstance(outputs, list) and outputs else ""
    return str((first.get("text") if isinstance(first, Mapping) else first) or "")


def _get(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
