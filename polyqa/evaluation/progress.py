"""What a long command shows while it goes on: progress bars, set for a block of code by `showing`."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar

from .columns import COLUMNS
from .prices import Price
from .records import Record, Took

Bar = Callable[[int, str], AbstractContextManager[Callable[..., None]]]
"""Shows a bar of so many steps with a text; the context gives what moves it on by one, to another text if given one."""
_BAR: ContextVar[Bar | None] = ContextVar("polyqa_bar", default=None)
_RUNNING = ("disambig_f1", "rouge_l", "str_em", "f1_answer")
"""The scores beside the bar of a run."""


@contextmanager
def showing(progress_bar: Bar) -> Iterator[None]:
    """Show what long commands do inside the block, as ``with showing(progress_bar): polyqa.evaluate(...)``."""
    token = _BAR.set(progress_bar)
    try:
        yield
    finally:
        _BAR.reset(token)


def shows() -> bool:
    """Return whether anything is shown: libraries that have progress bars of their own show them, too."""
    return _BAR.get() is not None


def bar(total: int, text: str = "") -> AbstractContextManager[Callable[..., None]]:
    """Show the bar of this context, see `Bar`; none if none was set."""
    current_bar = _BAR.get()
    return nullcontext(lambda text=None: None) if current_bar is None else current_bar(total, text)


@contextmanager
def bar_of_records(total: int) -> Iterator[Callable[[Record], None]]:
    """Show a run over questions, with the running scores and the number of failures; give what takes each record."""
    sums: dict[str, float] = {}
    counts: dict[str, int] = {}
    failed = 0
    with bar(total) as move:

        def add(record: Record) -> None:
            nonlocal failed
            failed += record.error is not None
            for name in _RUNNING:
                if name in record.scores:
                    sums[name] = sums.get(name, 0.0) + record.scores[name]
                    counts[name] = counts.get(name, 0) + 1
            scores = [f"{COLUMNS[name].label} {100 * total / counts[name]:.1f}" for name, total in sums.items()]
            move(_with_failed(scores, failed))

        yield add


@contextmanager
def bar_of_answers(total: int, price: Price | None = None) -> Iterator[Callable[[Took], None]]:
    """Show a batch of questions, with its calls, tokens, money and failures so far; give what takes each answer."""
    sums = Took()
    with bar(total) as move:

        def add(took: Took) -> None:
            nonlocal sums
            sums += took
            taken = [f"{sums.calls:,} calls", f"{sums.input_tokens + sums.output_tokens:,} tokens"]
            if price is not None and (dollars := price.of(sums.input_tokens, sums.output_tokens)):
                taken.append(f"${dollars:,.2f}")
            move(_with_failed(taken, sums.failed))

        yield add


def _with_failed(texts: list[str], failed: int) -> str:
    return "  ".join(texts + [f"[red]{failed} failed[/]"] * (failed > 0))
