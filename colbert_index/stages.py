"""What a build is at: a bar of tqdm for every stage, on standard error."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Advance = Callable[[float], object]
_SHOWN: ContextVar[bool] = ContextVar("_SHOWN", default=False)


@contextmanager
def stages(shown: bool) -> Iterator[None]:
    """Show the stages of the block, or none."""
    token = _SHOWN.set(shown)
    try:
        yield
    finally:
        _SHOWN.reset(token)


@contextmanager
def stage(name: str, total: int | None = None, thing: str = "") -> Iterator[Advance]:
    """Show a stage while the block runs; the context gives what moves it on. One within another goes when it ends.

    There is no total of a stage of which it cannot be told how far it is.
    """
    from tqdm.auto import tqdm

    with tqdm(
        desc=name,
        total=total,
        unit=f" {thing}s",
        bar_format=None if thing else "{desc} [{elapsed}]",
        leave=None,
        file=sys.stderr,  # as it is now: what colbert-ai prints meanwhile is kept from another one
        disable=not _SHOWN.get(),
    ) as bar:
        yield lambda done: bar.update(round(done))
