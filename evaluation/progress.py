"""What a run shows while it goes on."""

from typing import Protocol, Self

from .records import Record

_SHOWN = ("disambig_f1", "rouge_l", "str_em", "f1_answer")


class Progress(Protocol):
    """Takes the records as they come; a context manager."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...

    def add(self, record: Record) -> None:
        """Count a record."""


class Silent:
    """Shows nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None: ...

    def add(self, record: Record) -> None:
        """Count nothing."""


def silent(total: int) -> Silent:
    """Return a display that shows nothing."""
    return Silent()


class Bar:
    """A progress bar on standard error with the running scores and the number of failures."""

    def __init__(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        self._bar = RichProgress(
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[scores]}"),
            console=Console(stderr=True),
        )
        self._task = self._bar.add_task("", total=total, scores="")
        self._sums: dict[str, float] = {}
        self._counts: dict[str, int] = {}
        self._failed = 0

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def add(self, record: Record) -> None:
        """Move the bar on."""
        from .columns import COLUMNS

        self._failed += record.error is not None
        for name in _SHOWN:
            if name in record.scores:
                self._sums[name] = self._sums.get(name, 0.0) + record.scores[name]
                self._counts[name] = self._counts.get(name, 0) + 1
        shown = [f"{COLUMNS[name].label} {100 * total / self._counts[name]:.1f}" for name, total in self._sums.items()]
        failed = [f"[red]{self._failed} failed[/]"] if self._failed else []
        self._bar.update(self._task, advance=1, scores="  ".join(shown + failed))
