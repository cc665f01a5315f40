"""DSPy's cache of replies within the limits of a process: few open files, few replies in memory."""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partialmethod
from threading import Lock
from typing import Any

import dspy
from cachetools import LRUCache
from dspy.clients.cache import Cache

_BY_DEFAULT = 1_000_000  # replies that DSPy keeps in memory: gigabytes in a server
_IN_MEMORY = 1_000
_LOCK = Lock()


class _InOneThread:
    """The disk part of a cache, used by one thread.

    diskcache opens three files in each of 16 folders for every thread that uses it, and closes them when the thread
    ends: 64 threads have more files open than most processes may.
    """

    def __init__(self, disk: Any) -> None:
        self._disk = disk
        self._begin()

    def _begin(self) -> None:
        self._process, self._thread = os.getpid(), ThreadPoolExecutor(1, thread_name_prefix="polyqa-cache")

    def _done(self, name: str, *arguments: Any) -> Any:
        if self._process != os.getpid():  # a fork has no threads
            self._begin()
        return self._thread.submit(getattr(self._disk, name), *arguments).result()

    get = partialmethod(_done, "get")
    set = partialmethod(_done, "set")
    delete = partialmethod(_done, "delete")
    __contains__ = partialmethod(_done, "__contains__")

    def close(self) -> None:
        """Close its files, and end the thread."""
        self._done("close")
        self._disk.close()
        self._thread.shutdown()


def bound_cache(cache: Cache | None = None) -> None:
    """Have a cache, by default DSPy's own, use one connection to its folder, and no gigabytes of memory.

    For what asks in many threads: a server, a batch, an evaluation. Nothing changes for a cache without a folder, and
    none of the size in memory that somebody has set.
    """
    cache = dspy.cache if cache is None else cache
    with _LOCK:
        if cache.enable_disk_cache and not isinstance(cache.disk_cache, _InOneThread):
            if cache.enable_memory_cache and cache.memory_cache.maxsize == _BY_DEFAULT:
                cache.memory_cache = LRUCache(maxsize=_IN_MEMORY)  # the rest is on the disk
            cache.disk_cache = _InOneThread(cache.disk_cache)
