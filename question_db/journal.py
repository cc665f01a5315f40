"""Long work that survives a kill: results are lines of a file as they end, and what is in it is not made again."""

import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from contextvars import copy_context
from pathlib import Path
from typing import Any, TypeVar

from polyqa.signatures import PolyqaError

_SETTINGS = "settings"
Item = TypeVar("Item")
Result = TypeVar("Result")


def work_through(
    items: Iterable[Item],
    work: Callable[[Item], Result],
    keep: Callable[[Result], None],
    *,
    threads: int,
    check: Callable[[], None] = lambda: None,
) -> None:
    """Work on items in threads, and keep each result as it ends.

    When it is stopped, nothing is begun any more, and what was begun is still finished and kept.

    Parameters
    ----------
    work
        Is given an item, in a copy of this context: what the caller set with `dspy.context` holds there.
    keep
        Is given a result, here; when the work was stopped it is given those that it knows once more.
    threads
        Items at once.
    check
        Is called after each result; what it raises ends the work.
    """
    stop = threading.Event()

    def one(item: Item) -> list[Result]:
        return [] if stop.is_set() else [work(item)]

    pool = ThreadPoolExecutor(threads)
    every: list[Future[list[Result]]] = []
    try:
        every += [pool.submit(copy_context().run, one, item) for item in items]
        for future in as_completed(every):
            for result in future.result():
                keep(result)
            check()
    except BaseException:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)
        for future in every:
            if not future.cancelled() and future.exception() is None:
                for result in future.result():
                    keep(result)
        raise
    finally:
        pool.shutdown()


def whole_lines(path: Path, *, repair: bool = True) -> list[bytes]:
    """Return the lines of a file that were written to their end; none if there is no file.

    Parameters
    ----------
    repair
        Whether to cut off a last line without its end, which a killed writer leaves.
    """
    data = path.read_bytes() if path.exists() else b""
    whole = data[: data.rfind(b"\n") + 1]
    if repair and len(whole) < len(data):
        os.truncate(path, len(whole))
    return whole.splitlines()


@contextmanager
def appending_lines(path: Path) -> Iterator[Callable[[str], None]]:
    """Give a function that adds a line, given with its end; a kill leaves whole lines and at most one broken one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Unbuffered: a line is in the file when the function returns.
    with path.open("ab", buffering=0) as file:

        def append(line: str) -> None:
            data = line.encode()
            while data:
                data = data[file.write(data) :]

        yield append


def read_journal(path: Path, settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the lines of a journal; none if there is no file.

    A last line without its end (the writer was killed) is cut off.

    Raises
    ------
    PolyqaError
        If it was written under other settings, or is no journal.
    """
    try:
        lines = [json.loads(line) for line in whole_lines(path)]
    except ValueError as error:
        raise PolyqaError(f"{path} is damaged ({error}); remove it to start again.") from error
    if not lines:
        return []
    earlier = lines[0].get(_SETTINGS) if isinstance(lines[0], dict) else None
    if not isinstance(earlier, dict):
        raise PolyqaError(f"{path} is no journal that polyqa began; choose another folder.")
    changed = [
        f"{name} was {earlier.get(name)}, is {new}" for name, new in settings.items() if earlier.get(name) != new
    ]
    if changed:
        raise PolyqaError(
            f"{path} was begun with other settings ({'; '.join(changed)}); remove it, or choose another folder."
        )
    return lines[1:]


@contextmanager
def appending(path: Path, settings: dict[str, Any]) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Give a function that adds a line to a journal; a new one begins with the settings."""
    with appending_lines(path) as add:

        def append(line: dict[str, Any]) -> None:
            add(json.dumps(line, ensure_ascii=False) + "\n")

        if path.stat().st_size == 0:
            append({_SETTINGS: settings})
        yield append
