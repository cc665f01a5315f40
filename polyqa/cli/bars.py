"""The progress bar of long commands."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(total: int, text: str = "") -> Iterator[Callable[..., None]]:
    """Show a bar on standard error, see `polyqa.evaluation.progress.Bar`."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.fields[text]}"), console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=total, text=text)
        yield lambda to=text: bar.update(task, advance=1, text=to)
