"""Keeps the replies of language models while a long command runs, counts what it takes, and stops it at a limit."""

import json
import shutil
import threading
import time
from asyncio import CancelledError
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import dspy
from dspy.clients import DISK_CACHE_LIMIT
from dspy.clients.cache import Cache
from dspy.utils.callback import ACTIVE_CALL_ID, BaseCallback

from polyqa.artifacts.card import Spent
from polyqa.base.errors import PolyqaError
from polyqa.base.files import locked, require_no_links, write_atomically
from polyqa.base.needed import NotNeededError
from polyqa.base.work import PATIENCE, Failure, Outage
from polyqa.lm.dspy_internals import sends_calls_itself
from polyqa.lm.recorder import Ended, Usage
from polyqa.lm.reply_cache import bound_cache

CALLS_AT_ONCE = 24
"""So many calls without a reply, one after the other, end a compilation: a question may take as many at once."""
_REPLIES, _COUNT = "calls", "calls.json"
_OF_LANGUAGE_MODELS = "dspy.clients.lm"  # embedders are kept in the same cache
T = TypeVar("T")


class CallRefused(BaseException):
    """Raised in the thread whose call would go over the limit.

    No `Exception`: DSPy's optimizers (and our own runners) take that for the failure of one example, score it 0
    and go on.
    """


def _read(path: Path, parse: Callable[[str], T]) -> T | None:
    """Return what a small file says, ``None`` if there is none; it is written too often to wait for the disk."""
    try:
        return parse(path.read_text(encoding="utf-8")) if path.exists() else None
    except (ValueError, TypeError, LookupError) as error:
        raise PolyqaError(f"{path} is damaged, by a power cut for one; remove it to count from 0 again.") from error


class CallCounter(BaseCallback):
    """Counts the calls that go out, over all threads and restarts, and refuses those over a limit.

    A call is counted before it goes out, so that a killed command has counted it, and counts even if it
    fails. One that asks for several replies (``n``) counts as so many. DSPy's retries of a failed request
    are not counted.

    Parameters
    ----------
    path
        JSON; read at the start if it is there.
    most
        How many calls may go out, those of earlier runs included; any number if not given.

    Raises
    ------
    PolyqaError
        If the file is damaged.
    """

    def __init__(self, path: Path, most: int | None = None) -> None:
        self.path = path
        self.most = most
        self.made = _read(path, lambda text: int(json.loads(text)["calls"])) or 0
        self.why_stopped = ""
        """What the user is told; empty while calls may go out."""
        self._outage = Outage("calls of the language model", CALLS_AT_ONCE)
        self._closed = False
        self._open: set[str] = set()
        self._reserved: dict[str, int] = {}  # for calls of classes that may or may not ask the cache
        self._changed = threading.Condition()

    def reserve(self, calls: int) -> None:
        """Count calls that are about to go out.

        Raises
        ------
        CallRefused
            If they would go over the limit. From then on every call is refused.
        """
        with self._changed:
            if not self.why_stopped and self.most is not None and self.made + calls > self.most:
                self.why_stopped = (
                    f"Stopped: {self.made:,} calls of language models were made, and the limit (--max-calls) is "
                    f"{self.most:,}. Their replies and what was finished are kept in {self.path.parent}; the same "
                    "command with a larger --max-calls goes on from there."
                )
            self._refuse()
            self.made += calls
            write_atomically(self.path, json.dumps({"calls": self.made}), lasting=False)

    def cache_asked(self) -> None:
        """Take back what was counted for the call that asks the cache now, which counts it."""
        if calls := self._reserved.pop(ACTIVE_CALL_ID.get() or "", 0):
            self.reserve(-calls)

    def check(self) -> None:
        """Raise `CallRefused` if a call was refused: what was made since may lack its reply."""
        with self._changed:
            self._refuse()

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """Let a call begin; one that no cache may answer is counted, `CallCache` counts the others."""
        with self._changed:
            self._refuse()
            self._open.add(call_id)
        options = inputs.get("kwargs") or {}
        # Before a call that may be cached DSPy asks `CallCache`, unless a class of the user's sends it in its own way.
        cached = isinstance(instance, dspy.LM) and bool(options.get("cache", instance.cache))
        if not cached or sends_calls_itself(instance):
            calls = _replies({**instance.kwargs, **options})
            try:
                self.reserve(calls)
            except CallRefused:
                self.on_lm_end(call_id, None)  # DSPy does not end what did not start
                raise
            if cached:
                self._reserved[call_id] = calls

    def on_lm_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        """Note that a call has ended; after many without a reply, refuse further ones."""
        with self._changed:
            if not isinstance(exception, (NotNeededError, CancelledError, CallRefused)):
                # All of one kind: so many calls without a reply in a row are an outage, whatever the errors are.
                failure = Failure.of(exception) if exception else None
                self._outage.ended(failure and Failure(kind="no reply", message=failure.message or failure.kind))
                try:
                    self._outage.check()
                except PolyqaError as error:
                    self.why_stopped = self.why_stopped or str(error)
            self._open.discard(call_id)
            self._reserved.pop(call_id, None)
            self._changed.notify_all()

    def close(self, patience: float | None) -> None:
        """Refuse further calls, and wait for those in flight, so many seconds at most: their replies are to be kept."""
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: not self._open, patience)

    def _refuse(self) -> None:
        if self.why_stopped or self._closed:
            raise CallRefused


class CallCache(Cache):
    """DSPy's cache in a folder of its own; what it cannot answer is counted as a call, which may be refused."""

    def __init__(self, folder: Path, counter: CallCounter) -> None:
        super().__init__(True, True, str(folder), DISK_CACHE_LIMIT, restrict_pickle=True)
        bound_cache(self)
        self.counter = counter

    def get(self, request: dict[str, Any], ignored_args_for_cache_key: list[str] | None = None) -> Any:
        """Return a kept reply; count the call that will be made if there is none."""
        reply = super().get(request, ignored_args_for_cache_key)
        if str(request.get("_fn_identifier")).startswith(_OF_LANGUAGE_MODELS):
            self.counter.cache_asked()
            if reply is None:
                self.counter.reserve(_replies(request))
        return reply


@contextmanager
def kept_calls(work: str | Path, most: int | None = None) -> Iterator[CallCounter]:
    """Keep the replies of language models in a folder while the block runs: a stopped one replays them.

    Inside another block for the same folder this one changes nothing but the limit, if it is lower.

    Parameters
    ----------
    work
        The folder; the replies and the count of the calls go into it.
    most
        How many calls may go out, those of earlier blocks for this folder included.

    Raises
    ------
    PolyqaError
        When the limit is reached (calls in flight are waited for and kept), or if another process is at work in
        the folder.
    """
    require_no_links(Path(work))
    work = Path(work).resolve()
    work.mkdir(parents=True, exist_ok=True)
    earlier: Any = dspy.cache
    if isinstance(earlier, CallCache) and earlier.counter.path == work / _COUNT:
        outer = earlier.counter
        outer.most = min((limit for limit in (outer.most, most) if limit is not None), default=None)
        yield outer
        return
    with locked(work / ".lock", work), _counted_calls(work, most) as counter:
        yield counter


def remove_work(work: Path) -> None:
    """Remove what a stopped run would go on from, now that its result is written.

    Inside a block of `kept_calls` for the same folder nothing is removed: whoever began it is not done.
    """
    cache: Any = dspy.cache
    if isinstance(cache, CallCache) and cache.counter.path == work.resolve() / _COUNT:
        return
    done_folder = work.with_name(f"{work.name}-done")
    shutil.rmtree(done_folder, ignore_errors=True)  # of a process that was killed here
    with suppress(OSError):  # such as of Windows, while something in it is open: then all of it stays
        work.replace(done_folder)  # half of it would be taken for all that there is
    shutil.rmtree(done_folder, ignore_errors=True)


@contextmanager
def _counted_calls(work: Path, most: int | None) -> Iterator[CallCounter]:
    earlier: Any = dspy.cache
    patience: float | None = None
    counter = CallCounter(work / _COUNT, most)
    cache = CallCache(work / _REPLIES, counter)
    dspy.cache = cache
    try:
        with dspy.context(callbacks=[*(dspy.settings.callbacks or ()), counter]):
            yield counter
            counter.check()  # whatever became of the refusal on its way: nothing may be made of it
    except KeyboardInterrupt:
        patience = PATIENCE
        raise
    except BaseException as error:
        if counter.why_stopped:  # optimizers may have made another error of the refusal
            raise PolyqaError(counter.why_stopped) from error
        raise
    finally:
        try:
            counter.close(patience)
        finally:
            dspy.cache = earlier
            cache.disk_cache.close()


def _replies(options: Mapping[str, Any]) -> int:
    return max(1, int(options.get("n") or 1))


class Meter(Usage):
    """Counts requests, tokens and seconds, and keeps them in a file, so that a resumed compilation goes on counting."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self._started = time.perf_counter()
        self._before = _read(path, Spent.model_validate_json) or Spent()

    @property
    def spent(self) -> Spent:
        """What was spent so far, before a restart, too."""
        before = self._before
        return Spent(
            calls=before.calls + self.requests,
            input_tokens=before.input_tokens + self.input_tokens,
            output_tokens=before.output_tokens + self.output_tokens,
            seconds=round(before.seconds + time.perf_counter() - self._started, 3),
        )

    def write(self) -> None:
        """Write down what was spent."""
        with self._lock:
            write_atomically(self.path, self.spent.model_dump_json(), lasting=False)

    def call_ended(self, event: Ended) -> None:
        """Count a call and write it down."""
        super().call_ended(event)
        self.write()
