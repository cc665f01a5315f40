"""A local model in DSPy's engine contract, over DSPy's own client for OpenAI's API."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import asdict, replace
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from dspy.lm15 import (
    AsyncOpenAIChatLM,
    ContextLengthError,
    Request,
    Response,
    ServerError,
    TransportError,
    amaterialize_response,
    response_to_events,
)

from polyqa.base.copies import Shared
from polyqa.base.event_loops import in_shared_loop
from polyqa.base.threads import in_a_daemon
from polyqa.lm.client import BoundedLM, CallTimeoutError, out_of_the_deadline
from polyqa.lm.errors import ErrorReader
from polyqa.lm.recorded import attempt_number, wanted_rollout
from polyqa.lm.recorder import messages_of

from .process import LocalServer, LocalSettings

_FOREVER = 24 * 3600.0  # seconds
_LOOK = 0.02  # seconds


class LocalEngine(Shared):
    """Answers requests with a model that llama.cpp runs on this machine, for threads; `awaited` is for event loops.

    At most as many calls are sent at once as the server has slots; the wait for a slot, or for the model to be loaded,
    does not count for a call's deadline. A call that was given up ends at once, and llama.cpp stops writing its reply.
    """

    def __init__(self, path: Path, name: str, settings: LocalSettings) -> None:
        self.server = LocalServer(path, name, settings)
        self.awaited = AsyncLocalEngine(self)
        self.free = threading.BoundedSemaphore(settings.slots)

    def complete(self, request: Request) -> Response:
        """Return the reply to a request."""
        return in_shared_loop(self.awaited.complete(request))

    def stream(self, request: Request) -> Iterator[Any]:
        """Yield the events of a whole reply: `LocalLM` takes those of `awaited`, which come as it is written."""
        yield from response_to_events(self.complete(request))

    def dump_state(self) -> dict[str, Any]:
        """Return what `load_state` needs."""
        return {"path": str(self.server.path), "name": self.server.name, **asdict(self.server.settings)}

    @classmethod
    def load_state(cls, state: dict[str, Any]) -> "LocalEngine":
        """Return the engine that `dump_state` described."""
        state = dict(state)
        return shared_engine(Path(state.pop("path")), state.pop("name"), LocalSettings(**state))

    def __reduce__(self) -> tuple[Any, ...]:
        return shared_engine, (self.server.path, self.server.name, self.server.settings)


class AsyncLocalEngine(Shared):
    """The same engine for the event loop."""

    def __init__(self, engine: LocalEngine) -> None:
        self.engine = engine
        self._clients: WeakKeyDictionary[Any, dict[str, AsyncOpenAIChatLM]] = WeakKeyDictionary()

    async def complete(self, request: Request) -> Response:
        """See `LocalEngine.complete`."""
        return await amaterialize_response(self.stream(request), request)

    async def stream(self, request: Request) -> AsyncIterator[Any]:
        """See `LocalEngine.stream`."""
        with out_of_the_deadline():
            while not self.engine.free.acquire(blocking=False):  # threads and loops wait for the same slots
                await asyncio.sleep(_LOOK)
        try:
            with out_of_the_deadline():
                address = await asyncio.wrap_future(in_a_daemon(self.engine.server.address, name="polyqa-load"))
            sent, slot, *prompts = self._sent(request)
            try:
                await asyncio.to_thread(self.engine.server.turn, slot, *prompts)
                async with self._explained(), aclosing(self._client(address).stream(sent)) as events:
                    async for event in events:
                        yield event
            finally:
                self.engine.server.slots.give(slot)
        finally:
            self.engine.free.release()

    def dump_state(self) -> dict[str, Any]:
        """See `LocalEngine.dump_state`."""
        return self.engine.dump_state()

    @classmethod
    def load_state(cls, state: dict[str, Any]) -> "AsyncLocalEngine":
        """See `LocalEngine.load_state`."""
        return LocalEngine.load_state(state).awaited

    def __reduce__(self) -> tuple[Any, ...]:
        return attrgetter("awaited"), (self.engine,)

    def _client(self, address: str) -> AsyncOpenAIChatLM:
        """Return this loop's client of the server; a server that was started again has another address."""
        clients = self._clients.setdefault(asyncio.get_running_loop(), {})
        if address not in clients:
            clients.clear()
            key = self.engine.server.key
            transport = type(AsyncOpenAIChatLM(key).transport)  # DSPy gives it no public name
            # A call's own deadline ends it: a prompt may be read for minutes before the first byte comes. Nothing goes
            # through a proxy that the environment names.
            waits = dict.fromkeys(("read_timeout", "write_timeout", "pool_timeout"), _FOREVER)
            reader = ErrorReader(transport(trust_env=False, **waits))
            clients[address] = AsyncOpenAIChatLM(key, reader, f"{address}/v1")
        return clients[address]

    def _sent(self, request: Request) -> tuple[Request, int, str, str]:
        """Return a request as the server takes it, the slot that it has taken, what that had read, and what it reads.

        DSPy carries no keyword that it does not know, but ``metadata``: in there stand llama.cpp's own, such as
        ``grammar``, and ``lora`` for a call that wants the added weights.
        """
        extensions = dict(request.config.extensions or {})
        extensions |= extensions.pop("metadata", {})
        server = self.engine.server
        lora = (name := extensions.pop("lora", "")) in server.loras
        if lora:
            extensions["lora"] = [{"id": list(server.loras).index(name), "scale": 1.0}]
        prompt = "\n".join(message["content"] for message in messages_of(request))
        slot, before = server.slots.take(prompt, lora=lora)
        extensions["id_slot"] = slot
        config = replace(request.config, extensions=extensions)
        return replace(request, model=server.name, config=config), slot, before, prompt

    @asynccontextmanager
    async def _explained(self) -> AsyncIterator[None]:
        """Say what an error of the server means."""
        server = self.engine.server
        try:
            yield
        except (TransportError, ServerError) as error:
            if cause := await asyncio.to_thread(server.ended):
                raise ServerError(f"{server.name} stopped: {cause}. It is started again at the next call.") from error
            raise
        except ContextLengthError as error:
            raise ContextLengthError(
                f"the prompt does not fit into the {server.settings.context:,} tokens of context of {server.name}: "
                "give it more (--lm-set context=16384), or show fewer or shorter passages."
            ) from error


@lru_cache(maxsize=4)
def shared_engine(path: Path, name: str, settings: LocalSettings) -> LocalEngine:
    """Return the engine of a file and settings, one for all who use it: a model is loaded once."""
    return LocalEngine(path, name, settings)


class LocalLM(BoundedLM):
    """A language model on this machine, as a `dspy.LM`; the name labels figures made with it.

    At a temperature above 0 the seed decides, and the n-th reply to a request (``rollout_id``) has one of its own.
    """

    takes_grammar = gives_probabilities = True

    @property
    def at_once(self) -> int:
        """How many calls are computed at once."""
        return self.server.settings.slots

    def __init__(self, model: str, engine: LocalEngine, *, seed: int = 0, **settings: Any) -> None:
        # Recordings and runs know replies by what is in `kwargs`; those of seed 0 were made without it.
        lm_settings = {"seed": seed, **settings} if seed else settings
        super().__init__(model, engine=engine, async_engine=engine.awaited, **lm_settings)

    @property
    def reads_passages(self) -> bool:
        """Whether it has added weights for the call `polyqa.signatures.ReadPassage`."""
        return "read-passage" in self.server.loras

    @property
    def server(self) -> LocalServer:
        """The server that runs the model."""
        server: LocalServer = self.engine.server
        return server

    def __call__(self, prompt: Any = None, *, messages: Any = None, **kwargs: Any) -> Any:
        """See `BoundedLM`."""
        prompt, kwargs = self._seeded(prompt, kwargs)
        return super().__call__(prompt, messages=messages, **kwargs)

    async def acall(self, prompt: Any = None, *, messages: Any = None, **kwargs: Any) -> Any:
        """See `BoundedLM`."""
        prompt, kwargs = self._seeded(prompt, kwargs)
        return await super().acall(prompt, messages=messages, **kwargs)

    async def _too_long(self) -> CallTimeoutError:
        if await asyncio.to_thread(self.server.end_if_hung):
            return CallTimeoutError(f"{self.model} hung and was ended. It is started again at the next call.")
        return await super()._too_long()

    def _seeded(self, prompt: Any, settings: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Return a call with its seed, where something is drawn; another seed that a call gives is taken as it is."""
        own_seed, from_recording = self.kwargs.get("seed") or 0, isinstance(prompt, Request)
        if from_recording:  # a request takes no settings beside it
            call_seed, temperature, rollout = prompt.config.seed, prompt.config.temperature, wanted_rollout()
        else:
            chosen = {**self.kwargs, **settings}
            call_seed, temperature, rollout = chosen.get("seed"), chosen.get("temperature"), chosen.get("rollout_id")
        if not temperature or call_seed not in (None, own_seed):
            return prompt, settings
        # Another attempt draws otherwise: with the same seed it would be the same unreadable reply.
        seed = own_seed + (rollout or 0) + attempt_number() - 1
        if from_recording:
            return replace(prompt, config=replace(prompt.config, seed=seed)), settings
        return prompt, {**settings, "seed": seed}
