"""Workers on a Ray cluster: each loads once what it works with, then works on items.

Batch answering, evaluation, question building and index building all use `on_ray`.
Ray is an extra: ``pip install 'polyqa[ray]'``, on every machine of the cluster.
"""

import asyncio
import inspect
import logging
import os
import signal
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import dspy

from polyqa.base.errors import PolyqaError
from polyqa.base.extras import needs
from polyqa.colbert_index import ColBERTIndex

from .language_models import Models

_RETRIES = 4  # of an item whose worker was lost
_KNOCK_TIMEOUT = 10.0  # seconds
Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Ray:
    """A Ray cluster.

    Attributes
    ----------
    workers
        How many work at the same time, one CPU each.
    address
        Of a running cluster (``auto``, ``ray://…``); without one, a cluster is started on this machine, and stopped.

    Raises
    ------
    PolyqaError
        If there is no worker.
    """

    workers: int = 2
    address: str | None = None

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise PolyqaError(f"A cluster has at least 1 worker, not {self.workers}.")


class _Worker:
    """Lives in a Ray actor; ``make`` is called once and returns what is called, or awaited, with every item.

    Paths that it is given are as whoever asks has them, in ``folder``.
    """

    def __init__(self, make: Callable[[], Callable[[Any], Any]], at_once: int, folder: Path) -> None:
        with suppress(OSError):  # on another machine it may not be there
            os.chdir(folder)
        self._work = make()
        self._threads = ThreadPoolExecutor(at_once)

    async def ready(self) -> None:
        """Return when everything is loaded."""

    async def call(self, item: Any) -> Any:
        loop = asyncio.get_running_loop()
        if inspect.iscoroutinefunction(getattr(self._work, "__call__", None)):  # noqa: B004  whether it is to be awaited
            loop.set_default_executor(self._threads)  # for its searches
            return await self._work(item)
        return await loop.run_in_executor(self._threads, copy_context().run, self._work, item)


class Workers(Generic[Item, Result]):
    """The workers of `on_ray`.

    Ray starts a lost worker again, elsewhere if need be, and asks it again what it had been asked.
    """

    def __init__(self, actors: Sequence[Any]) -> None:
        self.actors = actors
        self._busy: Counter[int] = Counter()

    async def call(self, item: Item) -> Result:
        """Have the least busy worker work on an item; a `PolyqaError` if worker after worker is lost over it.

        All calls are of one event loop.
        """
        import ray

        number = min(range(len(self.actors)), key=lambda at: self._busy[at])
        self._busy[number] += 1
        try:
            result: Result = await self.actors[number].call.remote(item)
            return result
        except ray.exceptions.RayActorError as error:
            raise PolyqaError(f"Workers of the cluster are lost one after the other: {_last_line(error)}") from error
        finally:
            self._busy[number] -= 1

    def map(self, items: Iterable[Item]) -> Iterator[Result]:
        """Work on items, one at a time in each worker; yield the results as they come, in any order.

        If an item fails, a `PolyqaError` is raised.
        """
        import ray
        from ray.util import ActorPool

        try:
            yield from ActorPool(self.actors).map_unordered(lambda actor, item: actor.call.remote(item), items)
        except ray.exceptions.RayError as error:
            raise PolyqaError(
                f"A worker of the cluster failed: {_last_line(error)} What is finished is kept; mend the cause and run "
                "the same command again."
            ) from error


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
    count = ray_settings.workers
    with cluster(ray_settings) as ray:
        cpus = ray.cluster_resources().get("CPU", 0)
        if cpus < count:  # Ray would wait for more for ever
            raise PolyqaError(f"The cluster has {cpus:g} CPUs, too few for {count} workers, which take one each.")
        worker = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=_RETRIES, max_concurrency=at_once)(_Worker)
        actors = [worker.remote(make, at_once, Path.cwd()) for _ in range(count)]
        try:
            try:
                ray.get([actor.ready.remote() for actor in actors])
            except ray.exceptions.RayError as error:
                raise PolyqaError(
                    f"A worker of the cluster cannot start: {_last_line(error)} Every machine of the cluster needs the "
                    "same polyqa, and the index under the same path."
                ) from error
            yield Workers(actors)
        finally:
            for actor in actors:
                ray.kill(actor)


@contextmanager
def cluster(ray_settings: Ray) -> Iterator[Any]:
    """Give `ray` while it runs; a cluster that was running before is left running."""
    needs("ray", extra="ray", for_="Work on a cluster")
    import ray

    if ray.is_initialized():
        yield ray
        return
    earlier = signal.getsignal(signal.SIGTERM)  # Ray sets its own, and leaves it when it is shut down
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray would report to its makers over the network
    address = ray_settings.address
    where = {"num_cpus": ray_settings.workers, "include_dashboard": False} if address is None else {"address": address}
    try:
        _knock(address)
        ray.init(log_to_driver=False, logging_level=logging.ERROR, **where)
    except (OSError, RuntimeError, ValueError) as error:
        at = f" at {address}" if address else ""
        raise PolyqaError(
            f"There is no Ray cluster{at} ({' '.join(str(error).split())[:200]}). Start one with `ray start "
            "--head`, or leave out --address to work on this machine."
        ) from error
    if earlier not in (signal.SIG_DFL, None):
        _set_sigterm(earlier)  # whoever wants to hear of it is told, not Ray alone
    try:
        yield ray
    finally:
        ray.shutdown()
        if earlier is not None:
            _set_sigterm(earlier)


def _set_sigterm(handler: Any) -> None:
    """Set what SIGTERM calls, where signals can be set."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, handler)


def _knock(address: str | None) -> None:
    """Raise an `OSError` if nobody listens at an address: Ray would try for minutes."""
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host, int(port)), timeout=_KNOCK_TIMEOUT).close()


def _last_line(error: Exception) -> str:
    """Return the last line of Ray's message, which is the error itself."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__)[:300].rstrip(".") + "."


def for_workers(
    program: str | Path | dspy.Module, settings: Mapping[str, Any], models: Models, workers: int = 1
) -> tuple[str, dict[str, Any], Models]:
    """Return program, settings and models as names and values that travel.

    The language model that DSPy has set here is named. Each worker gets its share of the requests that the provider
    allows. Objects belong to this process: a program or a model that is one is refused.
    """
    needs("ray", extra="ray", for_="Work on a cluster")
    if isinstance(program, dspy.Module):
        raise PolyqaError("On a cluster each worker makes the program: hand over its name, or a compiled one's.")
    if dspy.settings.adapter is not None:
        raise PolyqaError("On a cluster workers ask through polyqa's own adapter: configure none in DSPy.")
    shared = models.settings
    if shared.requests_per_minute is not None:
        shared = replace(shared, requests_per_minute=shared.requests_per_minute / workers)
    named_models = replace(models, lm=models.chosen_lm, settings=shared)  # workers have DSPy settings of their own
    for name in ("lm", "helper_lm", "reader", "judge"):
        model = getattr(named_models, name)
        if model is not None and not isinstance(model, str):
            raise PolyqaError(f"On a cluster each worker makes the models: give {name} by its name, not as an object.")
    return str(program), {name: _travelling(value) for name, value in settings.items()}, named_models


def _travelling(value: Any) -> Any:
    return str(value.path) if isinstance(value, ColBERTIndex) and value.condition is None else value
