"""A process that was forked from one whose models were in use: it has their weights and none of their threads.

The first batch would wait for those threads for ever. `own_threads` is called before every one.
"""

import os

from polyqa.base.errors import PolyqaError

_NO = ("false", "off", "no", "n", "f", "0")  # what tokenizers takes for a no


class _User:
    """The process that used a model first: this one, or one that it was forked from."""

    pid: int | None = None


def own_threads() -> None:
    """Note that this process uses models.

    Raises
    ------
    PolyqaError
        If it was forked from a process that used some, unless neither torch nor tokenizers start threads.
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
