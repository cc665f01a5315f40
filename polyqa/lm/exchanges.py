"""What comes back from language models in a block: replies that break off are known, unreadable ones forgotten.

DSPy's cache keeps every reply, also one that its adapter cannot read: whoever asks again gets the same reply, from this
process or a later one.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import dspy
from dspy.utils.exceptions import AdapterParseError

from .dspy_internals import forget_reply
from .recorder import Ended, Listener, Started, listening, reply_text

UNREADABLE = (AdapterParseError, ValueError, RecursionError)
"""What is raised for a reply that cannot be read: by adapters, or by the types and parsers that they are made of."""
_RECENT = 64  # entries of a language model's history among which a call is looked for


class Exchange(Listener):
    """The calls of language models that were made in a block.

    Attributes
    ----------
    cut
        Whether the last reply that came broke off because it had as many tokens as it may have. Where DSPy's history
        is switched off this is not known, and ``False``.
    limit
        How many tokens it may have had; ``None`` if that is not known.
    reply
        The text of that reply; empty before one came.
    """

    def __init__(self) -> None:
        self.cut = False
        self.limit: int | None = None
        self.reply = ""
        self._calls: list[Started] = []

    def call_started(self, event: Started) -> None:
        """Remember what is asked."""
        self._calls.append(event)

    def call_ended(self, event: Ended) -> None:
        """Look up why the reply ended."""
        if event.error is None:
            self.cut = _finish_reason(event) == "length"
            asked = {**event.start.instance.kwargs, **(event.start.inputs.get("kwargs") or {})}
            self.limit = asked.get("max_tokens") or asked.get("max_completion_tokens")
            self.reply = reply_text(event.outputs)

    def forget(self) -> None:
        """Remove the replies of all calls from DSPy's cache, in memory and on disk."""
        for call in self._calls:
            forget_reply(call.instance, call.inputs)


@contextmanager
def exchanging() -> Iterator[Exchange]:
    """Watch the calls that are made in the block; if a reply cannot be read, none of them stays in DSPy's cache."""
    exchange = Exchange()
    with listening(exchange):
        try:
            yield exchange
        except UNREADABLE:
            exchange.forget()
            raise


def _finish_reason(event: Ended) -> str:
    if isinstance(event.outputs, dspy.lm15.Response):
        return str(event.outputs.finish_reason)
    messages = event.start.inputs.get("messages")
    entries = reversed(event.start.instance.history[-_RECENT:]) if messages else ()
    response = next((entry["response"] for entry in entries if entry["messages"] is messages), None)
    choices = _get(response, "choices") or [response]  # as LiteLLM has it, or as DSPy's own client
    return str(_get(choices[0], "finish_reason") or "")


def _get(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
