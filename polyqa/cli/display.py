"""What commands show: progress bars, tables, prompts, JSON, and the question whether to start."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from polyqa.evaluation.columns import COLUMNS
from polyqa.evaluation.progress import Display

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from polyqa.evaluation.recording import Call
    from polyqa.evaluation.records import Record

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
    def passages(self, total: int) -> Iterator[Callable[[], None]]:
        """Show a bar of passages."""
        with _bar(total, "passages") as move:
            yield lambda: move("passages")


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


def confirming(yes: bool) -> Callable[[object], bool]:
    """Return what shows what a command may take, and asks whether to start, unless that was said."""

    def confirm(what: object) -> bool:
        typer.echo(f"at most {what}", err=True)
        return yes or typer.confirm("Start?", err=True)

    return confirm


def console() -> "Console":
    """Return a console that prints texts as they are."""
    from rich.console import Console

    return Console(highlight=False)


def table(
    *columns: str, right: Collection[str] = (), rows: Iterable[Iterable[str]] = (), title: str | None = None
) -> "Table":
    """Return a table without lines; the columns named in ``right`` are justified there."""
    from rich.table import Table

    made = Table(box=None, padding=(0, 2, 0, 0), title=title, title_justify="left")
    for name in columns:
        made.add_column(name, justify="right" if name in right else "left")
    for row in rows:
        made.add_row(*row)
    return made


def facts(data: Mapping[str, object]) -> "Table":
    """Return a table of names and values."""
    from rich.table import Table

    made = Table(show_header=False, box=None)
    for name, value in data.items():
        made.add_row(f"[bold]{name}[/]", f"{value:,}" if isinstance(value, int) else str(value))
    return made


def show_prompts(calls: "Iterable[Call]") -> None:
    """Print the messages and the reply of every call."""
    from rich.markup import escape
    from rich.rule import Rule

    every = list(calls)
    shown = console()
    for number, call in enumerate(every, 1):
        shown.print(Rule(f"call {number} of {len(every)}"))
        for message in call.messages:
            shown.print(f"[bold]{message['role']}[/]\n{escape(str(message['content']))}\n")
        shown.print(f"[bold]reply[/]\n{escape(call.reply)}\n")


def show_json(data: Any) -> None:
    """Print data as JSON."""
    import json

    typer.echo(json.dumps(data, indent=2, ensure_ascii=False, default=str))
