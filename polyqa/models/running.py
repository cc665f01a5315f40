"""What every batch of a model needs: threads of this process, memory that stays, texts of one padded length."""

import ctypes
import os
import platform
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from polyqa.base.errors import PolyqaError

if TYPE_CHECKING:
    from torch import Tensor

_NO = ("false", "off", "no", "n", "f", "0")  # what tokenizers takes for a no
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # glibc's malloc.h
_KEPT = 128 << 20  # bytes at the end of a heap that stay this process's
_HEAPS = 2  # by itself glibc has eight for each core, and each keeps what was freed in it
_OWN_MAPPING = 32 << 20  # bytes from which an array has pages of its own, which are given back
MALLOC_VARIABLES = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")
"""Variables of the environment that say how glibc keeps memory."""


class _User:
    """The process that used a model first: this one, or one that it was forked from."""

    pid: int | None = None


def own_threads() -> None:
    """Note that this process uses models; called before every batch.

    A process that was forked from one whose models were in use has their weights and none of their threads: its first
    batch would wait for those threads for ever.

    Raises
    ------
    PolyqaError
        If this is such a process, unless neither torch nor tokenizers start threads.
    """
    pid = os.getpid()
    if _User.pid is not None and _User.pid != pid and _with_threads():
        raise PolyqaError(
            f"Process {pid} was forked after a search or a model had run in process {_User.pid}, whose threads it "
            'lacks: this would wait for ever. Start processes with multiprocessing.get_context("spawn"), or fork '
            "before the first search and open the index after the fork."
        )
    _User.pid = pid


def _with_threads() -> bool:
    import torch

    return torch.get_num_threads() > 1 or os.environ.get("TOKENIZERS_PARALLELISM", "").lower() not in _NO


@cache
def keep_freed_memory() -> None:
    """Have glibc keep up to 256 MB that were freed, for the whole process; other C libraries stay as they are.

    The activations of a batch are some ten megabytes each, and there are dozens. glibc returns those to the system when
    they are freed and takes them anew for the next batch, where the first touch of every page is a trap into the
    kernel: a tenth of the time that encoding takes. Nothing is changed where the environment says how memory is kept.
    """
    if platform.libc_ver()[0] != "glibc" or any(name in os.environ for name in MALLOC_VARIABLES):
        return
    mallopt = ctypes.CDLL(None).mallopt
    mallopt(_ARENA_MAX, _HEAPS)
    mallopt(_TRIM_THRESHOLD, _KEPT)
    mallopt(_MMAP_THRESHOLD, _OWN_MAPPING)


def by_padded_length(
    lengths: Sequence[int], batch_size: int, *, step: int, longest: int
) -> Iterator[tuple[list[int], int]]:
    """Yield positions that share a batch, and the length that all of them are padded to.

    A text is padded to the same length whatever else is there: what bfloat16 makes of it would change with the
    padding, and near ties with it. It also keeps the number of shapes small; oneDNN compiles a kernel for each.

    Parameters
    ----------
    lengths
        Tokens per text.
    batch_size
        Texts per batch at most.
    step, longest
        Lengths are rounded up to a multiple of ``step``, at most ``longest``.

    >>> list(by_padded_length([5, 30, 7, 31], 2, step=8, longest=31))
    [([0, 2], 8), ([1, 3], 31)]
    """
    groups: dict[int, list[int]] = {}
    for position, length in enumerate(lengths):
        groups.setdefault(min(-(-length // step) * step, longest), []).append(position)
    for padded in sorted(groups):
        group = groups[padded]
        for begin in range(0, len(group), batch_size):
            yield group[begin : begin + batch_size], padded


def padded_rows(rows: Sequence[Sequence[int]], length: int, padding: int = 0) -> "Tensor":
    """Return rows of numbers with padding behind them, shape (rows, length)."""
    import torch

    return torch.tensor([[*row, *(padding,) * (length - len(row))] for row in rows])
