"""What comes back from language models in a block: replies that break off are known, unreadable ones forgotten.

DSPy's cache keeps every reply, also one that its adapter cannot read: whoever asks again gets the same reply, from this
process or a later one.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import dspy
from dspy.utils.exceptions import AdapterParseError

from .dspy_internals import forget_reply
from .recorder import Ended, Listener, Started, listening, member, reply_text

CUT = {"length": "the reply broke off", "content_filter": "the provider's filter stopped the reply"}
"""Why replies end before their end."""
_RECENT = 64  # entries of a language model's history among which a call is looked for


class Exchange(Listener):
    """The calls of language models that were made in a block, and how the last reply came."""

    def __init__(self) -> None:
        self.reply = ""
        # Why it broke off, see `CUT`; not known, and empty, where DSPy's history is switched off.
        self.cut = ""
        self.limit: int | None = None
        # No predictor has read it yet: what is raised then is raised by a reader.
        self.replied = False
        self.calls: list[Started] = []

    def call_started(self, event: Started) -> None:
        """Remember what is asked."""
        self.calls.append(event)
        self.replied = False

    def call_ended(self, event: Ended) -> None:
        """Look up why the reply ended."""
        self.replied = event.error is None
        if self.replied:
            reason = _finish_reason(event)
            self.cut = reason if reason in CUT else ""
            settings = {**event.start.instance.kwargs, **(event.start.inputs.get("kwargs") or {})}
            self.limit = settings.get("max_tokens") or settings.get("max_completion_tokens")
            self.reply = reply_text(event.outputs)

    def module_ended(self, event: Ended) -> None:
        """Note that the reply was read."""
        self.replied = self.replied and event.error is not None


@contextmanager
def exchanging() -> Iterator[Exchange]:
    """Watch the calls that are made in the block; if a reply cannot be read, none of them stays in DSPy's cache."""
    exchange = Exchange()
    with listening(exchange):
        try:
            yield exchange
        except Exception as error:
            if exchange.replied or isinstance(error, AdapterParseError):
                for call in exchange.calls:
                    forget_reply(call.instance, call.inputs)
            raise


def _finish_reason(event: Ended) -> str:
    if isinstance(event.outputs, dspy.lm15.Response):
        return str(event.outputs.finish_reason)
    messages = event.start.inputs.get("messages")
    entries = reversed(event.start.instance.history[-_RECENT:]) if messages else ()
    response = next((entry["response"] for entry in entries if entry["messages"] is messages), None)
    choices = member(response, "choices") or [response]  # as LiteLLM has it, or as DSPy's own client
    return str(member(choices[0], "finish_reason") or "")
