"""A language model whose replies a function writes, from the prompt as an ordinary model would see it."""

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import dspy
from dspy.lm15 import Message, Request, Response, Usage, response_to_events

from polyqa.engines.extractive.prompt import Prompt, parse_prompt, render_reply

Reply = Callable[[Prompt], Mapping[str, object]]


def said(request: Request, text: str) -> Response:
    """Return a reply to a request, of one token each way."""
    return Response(
        id=None,
        model=request.model,
        message=Message.assistant(text),
        finish_reason="stop",
        usage=Usage(input_tokens=1, output_tokens=1),
    )


class ScriptedEngine:
    """DSPy's engine contract over a function; ``seen`` keeps the prompts in the order of their arrival.

    ``most_at_once`` is how many calls were under way together.
    """

    def __init__(self, reply: Reply, *, latency: float = 0.0) -> None:
        self.reply = reply
        self.latency = latency
        self.seen: list[Prompt] = []
        self.most_at_once = 0
        self._running = 0
        self._lock = threading.Lock()

    def complete(self, request: Request) -> Response:
        system = request.system
        head = system if isinstance(system, str) else "".join(part.text for part in system or ())
        prompt = parse_prompt([("system", head), *((message.role, message.text or "") for message in request.messages)])
        with self._lock:
            self.seen.append(prompt)
            self._running += 1
            self.most_at_once = max(self.most_at_once, self._running)
        time.sleep(self.latency)
        try:
            text = render_reply(prompt, dict(self.reply(prompt)))
        finally:
            with self._lock:
                self._running -= 1
        return said(request, text)

    def stream(self, request: Request) -> Any:
        return response_to_events(self.complete(request))

    def close(self) -> None:
        pass

    def asked(self, output: str) -> list[Prompt]:
        """Return the prompts that asked for an output field."""
        return [prompt for prompt in self.seen if output in prompt.output_fields]


class _Async:
    def __init__(self, engine: ScriptedEngine) -> None:
        self.engine = engine

    async def complete(self, request: Request) -> Response:
        return await asyncio.to_thread(self.engine.complete, request)

    async def stream(self, request: Request) -> Any:
        for event in response_to_events(await self.complete(request)):
            yield event

    async def aclose(self) -> None:
        pass


def scripted_lm(engine: ScriptedEngine) -> dspy.LM:
    """Return the engine as a `dspy.LM`."""
    return dspy.LM("tests/scripted", engine=engine, async_engine=_Async(engine), cache=False, num_retries=0)
