"""Workers on a Ray cluster: each loads once what it works with, and does one thing after the other, or several at once.

Ray is an extra: ``pip install 'polyqa[ray]'``, on every machine of the cluster.
"""

import asyncio
import inspect
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from polyqa.base.errors import PolyqaError
from polyqa.questions.distributed import cluster

_CALLS = 8  # at once of an object's methods
_TRIES = 4  # of an item whose worker was lost
_PAUSE = 1.0  # seconds, doubled each time: a lost worker is started again meanwhile
Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Ray:
    """A cluster: so many workers, one CPU each, at an address; one is started here if none is given."""

    workers: int = 2
    address: str | None = None


class _Worker:
    """Lives in a Ray actor; ``make`` is called once and returns what is called with every item."""

    def __init__(self, make: Callable[[], Callable[[Any], Any]], at_once: int) -> None:
        self._work = make()
        self._pool = ThreadPoolExecutor(at_once)

    async def ready(self) -> None:
        """Return when everything is loaded."""

    async def call(self, item: Any) -> Any:
        loop = asyncio.get_running_loop()
        if inspect.iscoroutinefunction(getattr(self._work, "__call__", None)):  # noqa: B004  whether it is to be awaited
            loop.set_default_executor(self._pool)  # for its searches
            return await self._work(item)
        return await loop.run_in_executor(self._pool, copy_context().run, self._work, item)


class Workers(Generic[Item, Result]):
    """The workers of `on_ray`, asked one item at a time by whoever is least busy."""

    def __init__(self, ray: Any, actors: list[Any]) -> None:
        self._ray = ray
        self._actors = actors
        self._busy: Counter[int] = Counter()
        self._lock = threading.Lock()

    def wait(self, item: Item) -> Result:
        """Have an item worked on, and wait for it in this thread; see `call`."""
        return asyncio.run(self.call(item))

    async def call(self, item: Item) -> Result:
        """Have an item worked on; by another worker if the first one is lost.

        Raises
        ------
        PolyqaError
            If worker after worker is lost over it.
        """
        for attempt in range(_TRIES):
            with self._lock:
                chosen = min(range(len(self._actors)), key=lambda number: self._busy[number])
                self._busy[chosen] += 1
            try:
                result: Result = await self._actors[chosen].call.remote(item)
                return result
            except self._ray.exceptions.RayActorError as error:
                lost = error
            finally:
                with self._lock:
                    self._busy[chosen] -= 1
            await asyncio.sleep(_PAUSE * 2**attempt)
        raise PolyqaError(f"Workers of the cluster are lost one after the other: {_line(lost)}")


@contextmanager
def on_ray(
    make: Callable[[], Callable[[Item], Any]], ray_settings: Ray, *, at_once: int
) -> Iterator[Workers[Item, Any]]:
    """Give workers on a cluster while the block runs.

    Parameters
    ----------
    make
        Called once in every worker; returns what is called, or awaited, with every item. It must be importable there,
        such as a `functools.partial` of a module's function.
    ray_settings
        The cluster.
    at_once
        How many items a worker works on at once.

    Raises
    ------
    PolyqaError
        If there is no Ray, no cluster, or a worker cannot load what it works with.
    """
    if ray_settings.workers < 1:
        raise PolyqaError(f"A cluster has at least 1 worker, not {ray_settings.workers}.")
    with cluster(ray_settings.workers, ray_settings.address) as ray:
        actor = ray.remote(num_cpus=1, max_restarts=-1, max_concurrency=at_once)(_Worker)
        actors = [actor.remote(make, at_once) for _ in range(ray_settings.workers)]
        try:
            _wait_for(ray, actors)
            yield Workers(ray, actors)
        finally:
            for one in actors:
                ray.kill(one)


class Placed:
    """Objects that live on a cluster, one in each worker; their methods are called by the object's number.

    It may be pickled: other workers of the cluster can ask them, too.
    """

    def __init__(self, names: Sequence[str], what: str) -> None:
        self._names = tuple(names)
        self._what = what

    def __len__(self) -> int:
        return len(self._names)

    @cached_property
    def actors(self) -> list[Any]:
        """The workers, by their names: a handle in the arguments of another worker keeps that from being restarted."""
        import ray

        return [ray.get_actor(name) for name in self._names]

    def __getstate__(self) -> dict[str, Any]:
        return {"_names": self._names, "_what": self._what}

    def ask(self, requests: Mapping[int, tuple[str, tuple[Any, ...]]]) -> dict[int, Any]:
        """Call a method of each of some objects, all at once; return what each returns.

        A worker that is lost is started again elsewhere, and what it was asked is asked again.

        Raises
        ------
        PolyqaError
            If one fails, or its worker is lost again and again.
        """
        import ray

        sent = [self.actors[number].call.remote(name, arguments) for number, (name, arguments) in requests.items()]
        try:
            return dict(zip(requests, ray.get(sent), strict=True))
        except ray.exceptions.RayError as error:
            raise PolyqaError(f"A worker that {self._what} failed: {_line(error)}") from error


class _Holder:
    """Lives in a Ray actor; ``make`` returns the object whose methods are called."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._held = make()

    def ready(self) -> None:
        """Return when everything is loaded."""

    def call(self, method: str, arguments: tuple[Any, ...]) -> Any:
        return getattr(self._held, method)(*arguments)


@contextmanager
def placed(
    makes: Sequence[Callable[[], Any]], what: str, address: str | None = None, *, beside: int = 0
) -> Iterator[Placed]:
    """Make objects on a cluster, each in a worker of its own with one CPU, and give what asks them.

    Parameters
    ----------
    makes
        What makes each, importable there.
    what
        What the workers do, for messages: ``holds a part of the index wiki``.
    address
        Of the cluster; one is started here if not given.
    beside
        For how many other workers a cluster that is started here has CPUs.

    Raises
    ------
    PolyqaError
        If there is no Ray, no cluster, or an object cannot be made.
    """
    with cluster(len(makes) + beside, address) as ray:
        holder = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=_TRIES, max_concurrency=_CALLS)(_Holder)
        names = [f"polyqa-{uuid.uuid4().hex}" for _ in makes]
        actors = [holder.options(name=name).remote(make) for name, make in zip(names, makes, strict=True)]
        try:
            _wait_for(ray, actors)
            yield Placed(names, what)
        finally:
            for one in actors:
                ray.kill(one)


def _wait_for(ray: Any, actors: Sequence[Any]) -> None:
    """Wait until all workers have loaded what they work with."""
    there = ray.cluster_resources().get("CPU", 0)
    if there < len(actors):  # Ray would wait for more for ever
        raise PolyqaError(f"The cluster has {there:g} CPUs, too few for {len(actors)} workers, which take one each.")
    try:
        ray.get([one.ready.remote() for one in actors])
    except ray.exceptions.RayError as error:
        raise PolyqaError(
            f"A worker of the cluster cannot start: {_line(error)} Every machine of the cluster needs the same polyqa, "
            "and the index under the same path."
        ) from error


@contextmanager
def tasks(ray_settings: Ray) -> Iterator[Callable[[Callable[[Item], Result], Sequence[Item]], Iterator[Result]]]:
    """Give what calls a function with every item on a cluster, and yields what it returns as it comes, in any order.

    Each call has a process of its own; one whose worker is lost is made again elsewhere.

    Raises
    ------
    PolyqaError
        If there is no Ray or no cluster; and by what is given, if a call fails: the others that run are finished first.
    """
    if ray_settings.workers < 1:
        raise PolyqaError(f"A cluster has at least 1 worker, not {ray_settings.workers}.")
    with cluster(ray_settings.workers, ray_settings.address) as ray:

        def run(function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
            task = ray.remote(num_cpus=1, max_retries=_TRIES)(lambda item: function(item))  # Ray takes no `partial`
            waiting = list(items)[::-1]
            running: list[Any] = []
            failed: Exception | None = None
            while running or (waiting and failed is None):
                while waiting and failed is None and len(running) < ray_settings.workers:
                    running.append(task.remote(waiting.pop()))
                (done,), running = ray.wait(running, num_returns=1)
                try:
                    yield ray.get(done)
                except ray.exceptions.RayError as error:
                    failed = failed or error
            if failed is not None:
                raise PolyqaError(
                    f"A worker of the cluster failed: {_line(failed)} What others finished is kept; mend the cause and "
                    "run the same command again."
                ) from failed

        yield run


def _line(error: Exception) -> str:
    """Return the last line of what Ray tells, which is the error itself."""
    told = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (told[-1] if told else type(error).__name__)[:300].rstrip(".") + "."
