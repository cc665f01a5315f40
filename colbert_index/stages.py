"""What a build is at: a named bar for every stage, on standard error."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from polyqa.base.text import counted

Advance = Callable[[float], None]


class Stages:
    """Shows stages, one below the other; where there is no terminal each is a line when it begins.

    The bars are a `rich.progress.Progress` with the field ``count``.
    """

    def __init__(self, bars: Any = None, say: Callable[[str], object] | None = None) -> None:
        self._bars, self._say = bars, say
        self._before = ""

    @contextmanager
    def within(self, name: str) -> Iterator[None]:
        """Put a name before those of the stages of the block; their bars go with it."""
        before, self._before = self._before, f"{self._before}{name}"
        own = {*self._bars.task_ids} if self._bars is not None else set()
        try:
            yield
        finally:
            self._before = before
            for task in [task for task in self._bars.task_ids if task not in own] if self._bars is not None else []:
                self._bars.remove_task(task)

    @contextmanager
    def stage(self, name: str, total: int | None = None, thing: str = "") -> Iterator[Advance]:
        """Show a stage while the block runs; the context gives what moves it on.

        There is no total of a stage of which it cannot be told how far it is.
        """
        name = f"{self._before}{name}"
        if self._say is not None:
            self._say(f"{name}: {counted(total, thing)} …" if total is not None else f"{name} …")
        if self._bars is None:
            yield lambda done: None
            return
        of = "" if total is None else f"/{counted(total, thing)}"
        completed = 0.0
        task = self._bars.add_task(name, total=total, count=f"0{of}" if of else "")

        def advance(done: float) -> None:
            nonlocal completed
            completed += done
            self._bars.update(task, completed=completed, count=f"{round(completed):,}{of}" if of else "")

        yield advance
        self._bars.update(task, total=total or 1, completed=total or 1)


@contextmanager
def stages(show: bool) -> Iterator[Stages]:
    """Show the stages of the block on standard error, or nothing."""
    if not show:
        yield Stages()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    error = sys.stderr  # what colbert-ai prints meanwhile is kept from it
    console = Console(file=error)
    if not console.is_terminal and not console.is_jupyter:
        yield Stages(say=lambda line: print(line, file=error, flush=True))
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(20),
        TextColumn("{task.fields[count]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as bars:
        yield Stages(bars)
