"""A language model whose replies a function writes, from what an ordinary model would see."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import dspy
from dspy.lm15 import Message, Request, Response, Usage, response_to_events

from polyqa.extractive import AsyncExtractiveEngine
from polyqa.extractive.prompt import Prompt, parse_prompt, render_reply
from polyqa.lm.recorder import messages_of


def prompt_of(request: Request) -> Prompt:
    """Return what a request of DSPy's adapters asks."""
    return parse_prompt(messages_of(request))


def last_message(request: Request) -> str:
    """Return the text that a request ends with."""
    return request.messages[-1].text or ""


class ScriptedEngine:
    """DSPy's engine contract over a function.

    Parameters
    ----------
    reply
        Takes what ``given`` makes of a request; returns the fields of the reply, of which those that the prompt asks
        for are written, or the text of the reply, or a whole response.
    given
        `prompt_of`, `last_message` or another function of the request.
    latency
        Seconds that every call takes at least.
    usage
        Tokens in and out of every call.

    Attributes
    ----------
    seen
        What the function was given, in the order of the requests' arrival.
    most_at_once
        How many calls were under way together.
    """

    def __init__(
        self,
        reply: Callable[[Any], Mapping[str, object] | str | Response],
        *,
        given: Callable[[Request], Any] = prompt_of,
        latency: float = 0.0,
        usage: tuple[int, int] = (1, 1),
    ) -> None:
        self.reply = reply
        self.given = given
        self.latency = latency
        self.usage = usage
        self.seen: list[Any] = []
        self.most_at_once = 0
        self._running = 0
        self._lock = threading.Lock()

    def complete(self, request: Request) -> Response:
        given = self.given(request)
        with self._lock:
            self.seen.append(given)
            self._running += 1
            self.most_at_once = max(self.most_at_once, self._running)
        try:
            time.sleep(self.latency)
            reply = self.reply(given)
        finally:
            with self._lock:
                self._running -= 1
        if isinstance(reply, Response):
            return reply
        text = reply if isinstance(reply, str) else render_reply(prompt_of(request), dict(reply))
        tokens_in, tokens_out = self.usage
        return Response(
            id=None,
            model=request.model,
            message=Message.assistant(text),
            finish_reason="stop",
            usage=Usage(input_tokens=tokens_in, output_tokens=tokens_out),
        )

    def stream(self, request: Request) -> Any:
        return response_to_events(self.complete(request))

    def asked(self, output: str) -> list[Prompt]:
        """Return the prompts that asked for an output field."""
        return [prompt for prompt in self.seen if output in prompt.output_fields]


def scripted_lm(engine: Any, model: str = "tests/scripted") -> dspy.LM:
    """Return an engine as a `dspy.LM`."""
    background = AsyncExtractiveEngine(engine)  # any engine's calls, made in a thread
    return dspy.LM(model, engine=engine, async_engine=background, cache=False, num_retries=0)
