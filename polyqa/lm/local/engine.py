"""A local model in DSPy's engine contract, over DSPy's own client for OpenAI's API."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from dspy.lm15 import (
    AsyncLMRouter,
    ContextLengthError,
    InvalidRequestError,
    LMRouter,
    Request,
    Response,
    RouterConfig,
    ServerError,
    Timeouts,
    TransportError,
    amaterialize_response,
    materialize_response,
)

from polyqa.base.needed import NotNeededError
from polyqa.lm.client import BoundedLM, given_up, out_of_the_deadline
from polyqa.lm.recorded import wanted_rollout

from .process import LocalServer, LocalSettings

_PROVIDER = "openai-chat"
_FOREVER = 24 * 3600.0  # seconds
_LOOK = 0.02  # seconds


class LocalEngine:
    """Answers requests with a model that llama.cpp runs on this machine.

    At most as many calls are sent at once as the server has slots; the wait for a slot does not count for a call's
    deadline. A call that was given up ends at its next token.

    Parameters
    ----------
    path, name, settings
        See `LocalServer`.
    """

    def __init__(self, path: Path, name: str, settings: LocalSettings) -> None:
        self.server = LocalServer(path, name, settings)
        self.free = threading.BoundedSemaphore(settings.slots)
        self._clients: dict[str, LMRouter] = {}

    def complete(self, request: Request) -> Response:
        """Return the reply to a request."""
        return materialize_response(self.stream(request), request)

    def stream(self, request: Request) -> Iterator[Any]:
        """Yield the events of a reply as it is written."""
        with out_of_the_deadline():
            self.free.acquire()
        try:
            if given_up():
                raise NotNeededError("the call was given up")
            with self.explained():
                for event in self._client().stream(self.sent(request)):
                    if given_up():
                        raise NotNeededError("the call was given up")
                    yield event
        finally:
            self.free.release()

    def close(self) -> None:
        """Leave the server running: other language models may share it."""

    def dump_state(self) -> dict[str, Any]:
        """Return what `load_state` needs."""
        return {"path": str(self.server.path), "name": self.server.name, **asdict(self.server.settings)}

    @classmethod
    def load_state(cls, state: dict[str, Any]) -> "LocalEngine":
        """Make the engine that `dump_state` described."""
        state = dict(state)
        return cls(Path(state.pop("path")), state.pop("name"), LocalSettings(**state))

    def __deepcopy__(self, memo: dict[int, object]) -> "LocalEngine":
        return self

    def sent(self, request: Request) -> Request:
        """Return a request as the server takes it.

        DSPy carries no keyword that it does not know, but ``metadata``: in there stand llama.cpp's own, such as
        ``grammar``.
        """
        extensions = dict(request.config.extensions or {})
        extensions |= extensions.pop("metadata", {})
        return replace(request, model=self.server.name, config=replace(request.config, extensions=extensions or None))

    def _client(self) -> Any:
        """Return DSPy's client of the server; a server that was started again has another address."""
        address = self.server.address()
        if address not in self._clients:
            self._clients.clear()
            self._clients[address] = LMRouter(_router_config(address, self.server.key))
        return self._clients[address].lm(f"{_PROVIDER}:{self.server.name}")

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Say what an error of the server means."""
        try:
            yield
        except (TransportError, ServerError) as error:
            if cause := self.server.ended():
                raise ServerError(
                    f"{self.server.name} stopped: {cause}. It is started again at the next call."
                ) from error
            raise
        except (ContextLengthError, InvalidRequestError) as error:
            if "exceed" not in str(error) or "context" not in str(error):
                raise
            raise ContextLengthError(
                f"the prompt does not fit into the {self.server.settings.context:,} tokens of context of "
                f"{self.server.name}: give it more (--lm-set context=16384), or show fewer or shorter passages."
            ) from error


class AsyncLocalEngine:
    """The same engine for the event loop."""

    def __init__(self, engine: LocalEngine) -> None:
        self.engine = engine
        self._clients: WeakKeyDictionary[Any, dict[str, AsyncLMRouter]] = WeakKeyDictionary()

    async def complete(self, request: Request) -> Response:
        """See `LocalEngine.complete`."""
        return await amaterialize_response(self.stream(request), request)

    async def stream(self, request: Request) -> AsyncIterator[Any]:
        """See `LocalEngine.stream`."""
        engine = self.engine
        with out_of_the_deadline():
            while not engine.free.acquire(blocking=False):  # threads wait for the same slots
                await asyncio.sleep(_LOOK)
        try:
            with engine.explained():
                client = await self._client()
                events = client.stream(engine.sent(request))
                async with aclosing(events):
                    async for event in events:
                        yield event
        finally:
            engine.free.release()

    async def aclose(self) -> None:
        """Leave the server running."""

    def dump_state(self) -> dict[str, Any]:
        """See `LocalEngine.dump_state`."""
        return self.engine.dump_state()

    @classmethod
    def load_state(cls, state: dict[str, Any]) -> "AsyncLocalEngine":
        """See `LocalEngine.load_state`."""
        return cls(LocalEngine.load_state(state))

    def __deepcopy__(self, memo: dict[int, object]) -> "AsyncLocalEngine":
        return self

    async def _client(self) -> Any:
        server = self.engine.server
        address = await asyncio.to_thread(server.address)
        clients = self._clients.setdefault(asyncio.get_running_loop(), {})
        if address not in clients:
            clients.clear()
            clients[address] = AsyncLMRouter(_router_config(address, server.key))
        return await asyncio.to_thread(clients[address].lm, f"{_PROVIDER}:{server.name}")


class LocalLM(BoundedLM):
    """A language model on this machine, as a `dspy.LM`.

    Parameters
    ----------
    model
        What figures made with it are labelled with: ``local/qwen2.5-coder-1.5b``.
    engine
        Runs it.
    seed
        Of what is drawn at a temperature above 0; the n-th reply to a request (``rollout_id``) has a seed of its own.
    settings
        See `BoundedLM`.
    """

    takes_grammar = gives_probabilities = True

    @property
    def at_once(self) -> int:
        """How many calls are computed at once."""
        return self.server.settings.slots

    def __init__(self, model: str, engine: LocalEngine, *, seed: int = 0, **settings: Any) -> None:
        super().__init__(model, engine=engine, async_engine=AsyncLocalEngine(engine), **settings)
        self.seed = seed

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

    def _seeded(self, prompt: Any, settings: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Return a call with its seed, where something is drawn."""
        if isinstance(prompt, Request):  # from a recording; a request takes no settings beside it
            if not prompt.config.temperature or prompt.config.seed is not None:
                return prompt, settings
            seed = self.seed + (wanted_rollout() or 0)
            return replace(prompt, config=replace(prompt.config, seed=seed)), settings
        if not settings.get("temperature", self.kwargs.get("temperature")):
            return prompt, settings
        rollout = settings.get("rollout_id", self.kwargs.get("rollout_id")) or 0
        return prompt, {"seed": self.seed + rollout, **settings}


def _router_config(address: str, key: str) -> RouterConfig:
    # A call's own deadline ends it; a prompt may be read for minutes before the first byte comes.
    waits = Timeouts(read=_FOREVER, write=_FOREVER, pool=_FOREVER)
    return RouterConfig(base_urls={_PROVIDER: f"{address}/v1"}, api_keys={_PROVIDER: key}, env={}, timeouts=waits)
