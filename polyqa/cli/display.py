"""What commands show: tables, prompts, JSON, progress bars, and the question whether to start."""

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TextIO

import typer

from polyqa.base.errors import PolyqaError
from polyqa.base.text import printable

from .terminal import has_every_character, say, say_json
from .waiting import IN_A_LOG

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from polyqa.lm.recorder import Call

_LONGEST_HEAD = 12
_FIGURES = frozenset("0123456789+-<")  # what a figure in a cell begins with


def confirming(yes: bool) -> Callable[[object], bool]:
    """Return what shows the expected cost of a command and asks whether to start it, unless ``yes`` says so."""

    def confirm(estimate: object) -> bool:
        say(f"Expected: {estimate}", err=True)
        return yes or asked("Start?")

    return confirm


def asked(question: str) -> bool:
    """Return the user's yes or no; where nobody can give one, as in a script, a `PolyqaError` names ``--yes``."""
    try:
        with _typing():
            return typer.confirm(question, err=True)
    except EOFError as error:
        say("", err=True)  # the question's line ends
        raise PolyqaError(f"“{question}” has no answer, as the input ended: say --yes.") from error


def typed() -> str:
    """Return the line that is typed at a prompt, empty at the input's end."""
    try:
        with _typing():
            return str(typer.prompt("", default="", show_default=False, prompt_suffix="> ")).strip()
    except EOFError:
        say("")
        return ""


@contextmanager
def _typing() -> Iterator[None]:
    """Raise what ended the input, the Ctrl-C of everywhere else or its end; Typer makes one error of both."""
    try:
        yield
    except typer.Abort as error:
        raise (EOFError if isinstance(error.__context__, EOFError) else KeyboardInterrupt) from error


@contextmanager
def at_work(mlflow: str | None = None, *, overwrite: bool = False) -> Iterator[None]:
    """Show progress bars of what the block does, and send its traces to an address; see `polyqa.tracing.traced`.

    What it does can be resumed, which Ctrl-C says: by the same command, less what makes it begin again.
    """
    from polyqa.evaluation.progress import showing
    from polyqa.tracing import traced

    try:
        with showing(_progress_bar), traced(mlflow):
            yield
    except KeyboardInterrupt:
        say(f"What is done stays; the same command{' without --overwrite' * overwrite} goes on.", err=True)
        raise


@contextmanager
def _progress_bar(total: int, text: str = "") -> Iterator[Callable[..., None]]:
    """Show a bar on standard error, see `polyqa.evaluation.progress.Bar`; in a file a line a minute, and its end."""
    from tqdm import tqdm

    log: dict[str, Any] = {"file": _Lines(sys.stderr), "mininterval": IN_A_LOG, "maxinterval": IN_A_LOG}
    with tqdm(total=total, postfix=text, dynamic_ncols=True, **({} if sys.stderr.isatty() else log)) as bar:

        def move(to: str = text) -> None:
            bar.set_postfix_str(to, refresh=False)
            bar.update()

        yield move


class _Lines:
    """A file for bars: what is drawn over a line is a line of its own, as what follows a log shows whole lines."""

    def __init__(self, file: TextIO) -> None:
        self._file, self._last = file, ""

    def write(self, text: str) -> None:
        drawn = text.strip()
        done = drawn.partition("[")[0]  # the end is drawn twice, and the second time may be a second later
        if done and done != self._last:
            self._file.write(f"{drawn}\n")
            self._last = done

    def flush(self) -> None:
        self._file.flush()


def console() -> "Console":
    """Return a console that prints texts as they are, but for what would steer the terminal."""
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class Plain(Console):
        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
            for segment in super().render(renderable, options):
                yield segment if segment.control else Segment(printable(segment.text), segment.style)

    return Plain(highlight=False, emoji=False)


def table(
    *columns: str, right: Collection[str] = (), rows: Iterable[Iterable[str]] = (), title: str | None = None
) -> "Table":
    """Return a table without lines; the columns named in ``right`` are justified there, cells may have markup."""
    from rich.table import Table

    grid = Table(box=None, padding=(0, 2, 0, 0), title=escaped(title) if title else None, title_justify="left")
    for name in columns:
        # A word that is too long for its column goes on in the next line; by itself Rich would cut it off.
        grid.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        grid.add_row(*row)
    return grid


def show_markdown(text: str) -> None:
    """Print Markdown as it is, or on a terminal its tables as wide as that is, in parts where they are wider."""
    if not sys.stdout.isatty():
        say(text)
        return
    out = console()
    for is_table, lines in groupby(text.splitlines(), key=lambda line: line.startswith("|")):
        if not is_table:
            out.print("\n".join(lines), markup=False)
            continue
        head, _, *rows = ([cell.strip() for cell in line.strip("|").split(" | ")] for line in lines)
        for number, columns in enumerate(fitting([head, *rows], out.width)):
            if number:
                out.print()
            names = ["\n".join(wrap(head[column], width)) for column, width in columns]
            cells = [[escaped(row[column]) for column, _ in columns] for row in rows]
            figures = [any(row[column][:1] in _FIGURES for row in rows) for column, _ in columns]
            right = [escaped(name) for name, of_figures in zip(names, figures, strict=True) if of_figures]
            out.print(table(*map(escaped, names), right=right, rows=cells))


def fitting(rows: Sequence[Sequence[str]], width: int) -> list[list[tuple[int, int]]]:
    """Return which columns of a table, its heads first, stand beside each other, and how wide each is in characters.

    As many stand there as fit into the terminal's width, the first column in every part. That one takes a third of the
    width at most, no other column more than its cells: longer heads go on in the next line.
    """
    gap = 2
    widths = [max(map(len, column)) for column in zip(*rows[1:], strict=True)]
    widths = [max(1, widest, min(len(head), _LONGEST_HEAD)) for widest, head in zip(widths, rows[0], strict=True)]
    first = (0, min(widths[0], width // 3))
    parts = [[first]]
    for column in enumerate(widths[1:], 1):
        if len(parts[-1]) > 1 and sum(column_width + gap for _, column_width in (*parts[-1], column)) > width:
            parts.append([first])
        parts[-1].append(column)
    return parts


def escaped(text: str) -> str:
    """Return a text of which nothing is markup."""
    from rich.markup import escape

    return escape(text)


def facts(data: Mapping[str, object]) -> "Table":
    """Return a table of names and values."""
    from rich.table import Table

    grid = Table(show_header=False, box=None)
    grid.add_column()
    grid.add_column(overflow="fold")
    for name, value in data.items():
        grid.add_row(f"[bold]{escaped(name)}[/]", f"{value:,}" if isinstance(value, int) else escaped(str(value)))
    return grid


def show_prompts(calls: "Iterable[Call]") -> None:
    """Print the messages and the reply of every call."""
    from rich.rule import Rule

    all_calls = list(calls)
    out = console()
    for number, call in enumerate(all_calls, 1):
        out.print(Rule(f"call {number} of {len(all_calls)}"))
        for message in call.messages:
            out.print(f"[bold]{message['role']}[/]\n{escaped(str(message['content']))}\n")
        out.print(f"[bold]reply[/]\n{escaped(call.reply)}\n")


def show_json(data: Any) -> None:
    """Print data as JSON."""
    import json

    say_json(json.dumps(data, indent=2, ensure_ascii=not has_every_character(), default=str))
