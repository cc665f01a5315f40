"""Memory that a batch has used: kept for the next one, where the C library would give it back to the system.

The activations of a batch are some ten megabytes each, and there are dozens. glibc returns those to the system when
they are freed and takes them anew for the next batch, where the first touch of every page is a trap into the kernel: a
tenth of the time that encoding takes.
"""

import ctypes
import os
import platform
from functools import cache

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # glibc's malloc.h
_KEPT = 128 << 20  # bytes at the end of the heap that stay this process's
_OWN_MAPPING = 32 << 20  # bytes from which an array has pages of its own, which are given back
SAID = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")
"""Variables of the environment that say how glibc keeps memory."""


@cache
def keep_freed_memory() -> None:
    """Have glibc keep up to 128 MB that were freed, for the whole process; other C libraries stay as they are.

    Nothing is changed where the environment says how memory is kept (``MALLOC_TRIM_THRESHOLD_``,
    ``MALLOC_MMAP_THRESHOLD_``, ``GLIBC_TUNABLES``).
    """
    if platform.libc_ver()[0] != "glibc" or any(name in os.environ for name in SAID):
        return
    mallopt = ctypes.CDLL(None).mallopt
    mallopt(_TRIM_THRESHOLD, _KEPT)
    mallopt(_MMAP_THRESHOLD, _OWN_MAPPING)
