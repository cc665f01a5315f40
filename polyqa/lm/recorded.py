"""Recorded replies: a language model that replays what a real one said, and records what it does not have yet.

One engine does both. A callback could record too, but it comes too late to answer in place of the model, and of a reply
it sees neither why it ended nor, from DSPy's cache, what it took. The engine sits in front of the whole language
model, not of the model's own engine: so deadlines, retries and turns stay what they are, of any `dspy.LM`.
What is returned is always what the file (`reply_file`) holds, so that a recorded run and its replay cannot differ.
"""

import json
import re
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import dspy
from dspy.clients.backend_selection import CLIENT_KEYS
from dspy.lm15 import ConfigurationError, InvalidRequestError, Request, Response, response_to_events
from dspy.utils.callback import with_callbacks
from dspy.utils.exceptions import LMInvalidRequestError
from dspy.utils.usage_tracker import UsageTracker

from polyqa.base.copies import Shared
from polyqa.base.errors import PolyqaError
from polyqa.base.text import well_formed

from .assigned import without_secrets
from .client import RecentLM
from .dspy_internals import lm_acall, lm_call
from .recorder import messages_of, reply_text
from .reply_file import ABILITIES, Described, RecordedReply, RecordedRequest, Recording, pack, telling
from .sampling import keep
from .servers import not_carried

_USAGE = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens", "total_tokens": "total_tokens"}


class MissingReplyError(LMInvalidRequestError):
    """Raised for a request that is not recorded; says how the nearest one that is differs."""


@dataclass
class _Call:
    """A call of a `RecordedLM`, for its engine: what DSPy keeps from engines, and the settings that no request holds.

    A server may have settings that OpenAI's API has not, such as Ollama's ``num_ctx``.
    """

    rollout: int | None = None
    beside: Mapping[str, Any] = field(default_factory=dict)
    replies: Iterator[int] = field(default_factory=count)


_CALL: ContextVar[_Call | None] = ContextVar("polyqa_recorded_call", default=None)


def wanted_rollout() -> int | None:
    """Return the ``rollout_id`` of the call that is being recorded here, which no request carries."""
    call = _CALL.get()
    return None if call is None else call.rollout


_ATTEMPT: ContextVar[int] = ContextVar("polyqa_attempt", default=1)


def attempt_number() -> int:
    """Return the number of the attempt that a call is made in, from 1."""
    return _ATTEMPT.get()


@contextmanager
def attempt(number: int) -> Iterator[None]:
    """Have the calls in the block be the first, second, … attempt at something: each has a reply of its own."""
    before = _ATTEMPT.set(number)
    try:
        yield
    finally:
        _ATTEMPT.reset(before)


def _recorded_request(request: Request) -> RecordedRequest:
    texts = request.system if isinstance(request.system, tuple) else ()
    parts = [*texts, *(part for message in request.messages for part in message.parts)]
    if any(part.type != "text" for part in parts):
        raise InvalidRequestError("A recording holds texts only: this request has other parts, such as an image.")
    settings = telling({name: value for name, value in asdict(request.config).items() if value not in (None, (), {})})
    if request.tools:
        settings["tools"] = [asdict(tool) for tool in request.tools]
    call = _CALL.get() or _Call()
    if call.rollout is not None and request.config.temperature != 0:
        settings["rollout_id"] = call.rollout
    if (number := _ATTEMPT.get()) > 1:
        settings["attempt"] = number
    if candidate := next(call.replies):
        settings["candidate"] = candidate
    settings = json.loads(json.dumps(without_secrets(settings), default=str))
    return RecordedRequest(request.model, settings, messages_of(request))


class RecordedEngine(Shared):
    """DSPy's engine contract over a recording, in front of the language model that is asked for what it lacks."""

    def __init__(self, recording: Recording, lm: dspy.LM | None = None) -> None:
        self.recording = recording
        self.lm = lm

    def complete(self, request: Request) -> Response:
        """Return the recorded reply to a request, or ask and record; without a model to ask that is an error."""
        request, recorded_request, record = self._find(request)
        if record is None:
            with self._asking() as add_reply:
                record = add_reply(recorded_request, self.lm(request, cache=False))  # type: ignore[misc]
        return record.response()

    def stream(self, request: Request) -> Iterator[Any]:
        """Yield the events of a reply, word by word, once the whole of it is there."""
        yield from events_of(self.complete(request))

    def dump_state(self) -> dict[str, str]:
        """Return where the recording is; the language model is not saved."""
        return {"path": str(self.recording.path)}

    @classmethod
    def load_state(cls, state: Mapping[str, str]) -> Any:
        """Make the engine that `dump_state` described; it only replays."""
        return cls(Recording(state["path"]))

    def _find(self, request: Request) -> tuple[Request, RecordedRequest, RecordedReply | None]:
        """Return a request with the settings that stand beside it, as it is recorded, and its reply if it is there."""
        if beside := (_CALL.get() or _Call()).beside:
            extensions = {**(request.config.extensions or {}), **beside}
            request = replace(request, config=replace(request.config, extensions=extensions))
        recorded_request = _recorded_request(request)
        record = self.recording.get(recorded_request)
        if record is None and self.lm is None:
            raise MissingReplyError(self.recording.missing(recorded_request), model=recorded_request.model)
        return request, recorded_request, record

    @contextmanager
    def _asking(self) -> Iterator[Any]:
        """Have the block ask the language model; callbacks, usage and history are told once, by who asked for it."""
        tracker = UsageTracker()
        started = time.perf_counter()

        def done(request: RecordedRequest, response: Response) -> RecordedReply:
            seconds = round(time.perf_counter() - started, 3)
            record = _recorded_reply(request, response, tracker, seconds)
            try:
                return self.recording.add(record, self.lm)
            except PolyqaError as error:
                raise ConfigurationError(str(error)) from error

        with dspy.context(send_stream=None, callbacks=[], usage_tracker=tracker, disable_history=True):
            yield done


class AsyncRecordedEngine(RecordedEngine):
    """The same engine for ``async_engine=``."""

    async def complete(self, request: Request) -> Response:
        """See `RecordedEngine.complete`."""
        request, recorded_request, record = self._find(request)
        if record is None:
            with self._asking() as add_reply:
                record = add_reply(recorded_request, await self.lm.acall(request, cache=False))  # type: ignore[union-attr]
        return record.response()

    async def stream(self, request: Request) -> AsyncIterator[Any]:  # type: ignore[override]
        """See `RecordedEngine.stream`."""
        for event in events_of(await self.complete(request)):
            yield event


def events_of(response: Response) -> Iterator[Any]:
    """Yield the events of a reply, word by word: DSPy's listeners hear nothing of a field that comes in one piece."""
    for event in response_to_events(response):
        if event.type != "delta":
            yield event
            continue
        for word in re.findall(r"\s*\S+|\s+", event.delta.text):
            yield replace(event, delta=replace(event.delta, text=word))


def _recorded_reply(
    request: RecordedRequest, response: Response, tracker: UsageTracker, seconds: float
) -> RecordedReply:
    kinds = {part.type for part in response.message.parts} - {"text", "thinking", "refusal", "citation"}
    if "tools" not in request.settings:
        kinds -= {"tool_call"}  # which nobody offered, so nobody waits for it
    if kinds:
        raise InvalidRequestError(f"A recording holds texts only: this reply has a {', '.join(sorted(kinds))}.")
    # As DSPy counts them for this provider, not as the provider's own figures are defined.
    counts: dict[str, Any] = next((entries[-1] for entries in tracker.usage_data.values()), {})
    as_dspy = {_USAGE[name]: count for name, count in counts.items() if name in _USAGE}
    usage = {name: count for name, count in (asdict(response.usage) | as_dspy).items() if count is not None}
    tokens = tuple(
        [token.token, round(token.logprob, 4), [[top.token, round(top.logprob, 4)] for top in token.top]]
        for token in response.logprobs or ()
    )
    text = well_formed(reply_text(response))
    return RecordedReply(request, text, response.finish_reason, usage, seconds, tokens)


class RecordedLM(Shared, RecentLM):
    """A language model in front of a recording; made by `recorded`.

    ``replays`` is the name of the file; empty if it also asks a model for what is not recorded.
    """

    def __init__(
        self,
        recording: Recording,
        described: Described,
        model: str,
        lm: dspy.LM | None,
        settings: Mapping[str, Any],
    ) -> None:
        # DSPy's cache is off: a reply from it would not be recorded.
        super().__init__(
            model,
            model_type=described.model_type,
            engine=RecordedEngine(recording, lm),
            async_engine=AsyncRecordedEngine(recording, lm),
            cache=False,
            num_retries=0,
        )
        self.kwargs = dict(settings)
        self.replays = "" if lm is not None else recording.path.name
        self.at_once: int | None = getattr(lm, "at_once", None)
        self.timeout: float | None = getattr(lm, "timeout", None)
        for name in ABILITIES:
            setattr(self, name, name in described.abilities)

    @with_callbacks
    def __call__(self, prompt: Any = None, *, messages: Any = None, **kwargs: Any) -> Any:
        """Reply as `dspy.LM` does."""
        with self._call(prompt, kwargs) as call_settings:
            return lm_call(self, prompt, messages=messages, **call_settings)

    @with_callbacks
    async def acall(self, prompt: Any = None, *, messages: Any = None, **kwargs: Any) -> Any:
        """Reply without blocking the event loop."""
        with self._call(prompt, kwargs) as call_settings:
            return await lm_acall(self, prompt, messages=messages, **call_settings)

    @contextmanager
    def _call(self, prompt: Any, settings: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Make a call in the block, with the settings that DSPy is to make a request of."""
        all_settings = {**self.kwargs, **settings}
        beside = {} if isinstance(prompt, Request) else not_carried(self, all_settings)
        before = _CALL.set(_Call(all_settings.get("rollout_id"), beside))
        try:
            yield {**settings, **dict.fromkeys(beside)}
        finally:
            _CALL.reset(before)


def recorded(path: str | Path, lm: dspy.LM | None = None, *, model: str | None = None, **settings: Any) -> RecordedLM:
    """Return a language model that replays recorded replies; with a language model, one that also records.

    Requests and replies are recorded in full: passages of your corpus are in the file, keys are not.

    Parameters
    ----------
    path
        A file that ends in ``.jsonl.gz``. Recording into one that is there adds to it.
    lm
        Is asked for replies that are not in the file, which are then added. What is in the file is never asked again.
        If not given, a request that is not in the file is an error that says what differs.
    model
        The recorded model that is replayed, if the file has several; not with ``lm``.
    settings
        Settings of the language model such as ``temperature``, over those that it was recorded with.

    Raises
    ------
    PolyqaError
        If ``lm`` is no `dspy.LM`, the file cannot be read or written, or does not say what to replay: it is not there,
        is empty, or has several models or another one.
    """
    path = Path(path)
    recording = Recording(path)
    if lm is not None and not isinstance(lm, dspy.LM):
        raise PolyqaError(f"A recording is of a dspy.LM, whose requests it knows replies by, not of {lm!r:.80}.")
    if lm is not None:
        pack(path)  # a folder that cannot be written should cost no call
        if lm.engine == "auto" and not_carried(lm, lm.kwargs):
            lm = lm.copy(engine="litellm")  # as without a recording: DSPy's own client has no place for them
        name, described = str(lm.model), Described.of(lm)
        base = {name: value for name, value in lm.kwargs.items() if name not in CLIENT_KEYS}
    else:
        names = sorted({record.request.model for record in recording})
        if not names:
            raise PolyqaError(f"{path} has no recorded replies. Record some: --lm NAME --record {path}.")
        if (model is None and len(names) > 1) or (model is not None and model not in names):
            raise PolyqaError(
                f"{path} has replies of {', '.join(names)}. Name one: --lm recorded/{path}@{names[0]}, in Python "
                f"model={names[0]!r}."
            )
        name = model or names[0]
        described = recording.models.get(name, Described())
        base = described.settings
    replaying = RecordedLM(recording, described, name, lm, base | settings)
    keep(replaying, {*described.kept, *settings})
    return replaying
