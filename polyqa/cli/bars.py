"""Progress bars of long commands."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from polyqa.evaluation.columns import COLUMNS
from polyqa.evaluation.progress import Display

if TYPE_CHECKING:
    from polyqa.evaluation.prices import Price
    from polyqa.evaluation.records import Record, Took

_RUNNING = ("disambig_f1", "rouge_l", "str_em", "f1_answer")
"""The scores beside the bar of a run."""


class Bars(Display):
    """Shows progress bars on standard error."""

    shows = True

    @contextmanager
    def questions(self, total: int) -> Iterator[Callable[["Record"], None]]:
        """Show a bar with the running scores and the number of failures."""
        sums: dict[str, float] = {}
        counts: dict[str, int] = {}
        failed = 0
        with _bar(total) as move:

            def add(record: "Record") -> None:
                nonlocal failed
                failed += record.error is not None
                for name in _RUNNING:
                    if name in record.scores:
                        sums[name] = sums.get(name, 0.0) + record.scores[name]
                        counts[name] = counts.get(name, 0) + 1
                shown = [f"{COLUMNS[name].label} {100 * total / counts[name]:.1f}" for name, total in sums.items()]
                move("  ".join(shown + ([f"[red]{failed} failed[/]"] if failed else [])))

            yield add

    @contextmanager
    def answers(self, total: int, price: "Price | None" = None) -> Iterator[Callable[["Took"], None]]:
        """Show a bar with the calls, the tokens, the money and the number of failures so far."""
        with _bar(total) as move:
            sums = None

            def add(took: "Took") -> None:
                nonlocal sums
                sums = took if sums is None else sums + took
                shown = [f"{sums.calls:,} calls", f"{sums.input_tokens + sums.output_tokens:,} tokens"]
                if price is not None and (dollars := price.of(sums.input_tokens, sums.output_tokens)):
                    shown.append(f"${dollars:,.2f}")
                move("  ".join(shown + ([f"[red]{sums.failed} failed[/]"] if sums.failed else [])))

            yield add

    @contextmanager
    def passages(self, total: int) -> Iterator[Callable[[], None]]:
        """Show a bar of passages."""
        with _bar(total, "passages") as move:
            yield lambda: move("passages")

    @contextmanager
    def runs(self, total: int, text: str) -> Iterator[Callable[[], None]]:
        """Show a bar of runs."""
        with _bar(total, text) as move:
            yield lambda: move(text)


@contextmanager
def _bar(total: int, text: str = "") -> Iterator[Callable[[str], None]]:
    """Show a bar; give what moves it on by one, with the text beside it."""
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
        yield lambda text: bar.update(task, advance=1, text=text)
