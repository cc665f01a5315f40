"""Generation on many machines with Ray Data: the same questions, the same journal.

Workers hold a language model and a reader each and read blocks of passages; this process writes their lines
into the journal as the blocks end. A build that is killed, here or there, goes on from the journal, on Ray
or locally. Ray is an extra: ``pip install polyqa[ray]``.
"""

import json
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import Any

import dspy

from polyqa.base.errors import PolyqaError
from polyqa.base.extras import needs
from polyqa.base.values import Passage
from polyqa.models import SpanReader

from .build import Generate
from .gathering import gathering
from .steps import read_passage
from .types import Generation, QuestionSettings

_BLOCK = 32  # passages: what is lost at most, per worker, when a build is killed
_KNOCKING = 10.0  # seconds
Models = Callable[[], tuple[dspy.LM, SpanReader]]


def on_ray(
    models: Models,
    *,
    settings: QuestionSettings = QuestionSettings(),
    workers: int = 2,
    threads: int = 1,
    address: str | None = None,
) -> Generate:
    """Return the generation that runs on a Ray cluster.

    Parameters
    ----------
    models
        Makes the language model and the reader; called once in every worker, and here for their names. It
        must be importable on the workers, such as a `functools.partial` of a module's function.
    settings
        See `polyqa.questions.generate_questions`.
    workers
        How many; each takes one CPU.
    threads
        Passages that a worker reads at once; more than 1 pays for language models over the network.
    address
        Of a cluster (``auto``, ``ray://…``); a cluster on this machine is started, and stopped, if not
        given.
    """
    if workers < 1 or threads < 1:
        raise ValueError(f"workers and threads must be at least 1, got {workers} and {threads}")
    return partial(_generate, models=models, settings=settings, workers=workers, threads=threads, address=address)


class _Worker:
    """Lives in a Ray actor."""

    def __init__(self, models: Models, settings: QuestionSettings, threads: int) -> None:
        self.lm, self.reader = models()
        self.settings, self.threads = settings, threads

    def __call__(self, block: dict[str, Any]) -> dict[str, list[str]]:
        passages = [Passage.model_validate_json(text) for text in block["passage"]]
        with ThreadPoolExecutor(self.threads) as pool:
            futures = [
                pool.submit(copy_context().run, read_passage, passage, self.lm, self.reader, self.settings)
                for passage in passages
            ]
            return {"line": [json.dumps(future.result(), ensure_ascii=False) for future in futures]}


def _generate(
    passages: Sequence[Passage],
    *,
    journal: Path,
    step: Callable[[], None],
    models: Models,
    settings: QuestionSettings,
    workers: int,
    threads: int,
    address: str | None,
) -> Generation:
    lm, reader = models()
    with gathering(passages, str(lm.model), reader.name, settings, journal, step) as gathered:
        if gathered.left:
            with cluster(workers, address) as ray:
                rows = [{"passage": passage.model_dump_json()} for passage in gathered.left]
                block = min(_BLOCK, -(-len(rows) // workers))
                lines = ray.data.from_items(rows, override_num_blocks=-(-len(rows) // block)).map_batches(
                    _Worker,
                    fn_constructor_args=(models, settings, threads),
                    concurrency=workers,
                    num_cpus=1,
                    batch_size=block,
                )
                for row in lines.iter_rows():
                    gathered.keep(json.loads(row["line"]))
                    gathered.require_progress()
        return gathered.finish()


@contextmanager
def cluster(workers: int, address: str | None) -> Iterator[Any]:
    """Give `ray`, with `ray.data`, while it runs; a cluster that was running before is left running.

    Parameters
    ----------
    workers
        For how many a cluster on this machine has CPUs, if one is started.
    address
        Of a cluster (``auto``, ``ray://…``); one is started here, and stopped, if not given.

    Raises
    ------
    PolyqaError
        If Ray is not installed, or there is no cluster at the address.
    """
    needs("ray", extra="ray", for_="Work on a cluster")
    import ray
    import ray.data

    started = not ray.is_initialized()
    earlier = signal.getsignal(signal.SIGTERM)  # Ray sets its own, and leaves it when it is shut down
    if started:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray would report to its makers over the network
        # One CPU beside the workers: Ray Data's own tasks wait for ever where actors hold all of them.
        own = {"num_cpus": workers + 1, "include_dashboard": False} if address is None else {"address": address}
        try:
            _knock(address)
            ray.init(log_to_driver=False, logging_level=logging.ERROR, **own)
        except (OSError, RuntimeError, ValueError) as error:
            where = f" at {address}" if address else ""
            raise PolyqaError(
                f"There is no Ray cluster{where} ({' '.join(str(error).split())[:200]}). Start one with `ray start "
                "--head`, or leave out --address to work on this machine."
            ) from error
        if earlier not in (signal.SIG_DFL, None) and _in_main_thread():
            signal.signal(signal.SIGTERM, earlier)  # whoever wants to hear of the end is told, not Ray alone
    context = ray.data.DataContext.get_current()
    shown, context.enable_progress_bars = context.enable_progress_bars, False
    logger = logging.getLogger("ray.data")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield ray
    finally:
        context.enable_progress_bars = shown
        logger.setLevel(level)
        if started:
            ray.shutdown()
            if earlier is not None and _in_main_thread():
                signal.signal(signal.SIGTERM, earlier)


def _in_main_thread() -> bool:
    """Say whether signals can be set here."""
    return threading.current_thread() is threading.main_thread()


def _knock(address: str | None) -> None:
    """Raise an `OSError` if nobody listens at an address: Ray would try for minutes."""
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host, int(port)), timeout=_KNOCKING).close()
