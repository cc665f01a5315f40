"""The cores that this process may use, which a container or `taskset` may make fewer than the machine has."""

import os


def usable_cores() -> set[int]:
    """Return their numbers; there is at least one."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
