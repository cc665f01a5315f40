"""What adapting brought, as a page: a sentence, the figures, and the questions that were won and lost."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from polyqa.evaluation.columns import COLUMNS
from polyqa.evaluation.tables import markdown_table
from polyqa.evaluation.verdicts import Changed, won_and_lost

if TYPE_CHECKING:
    from .adapting import Adapted

_SHOWN = 20


def adaptation_report(done: "Adapted") -> str:
    """Return the page as Markdown."""
    card = done.made.card
    won, lost = won_and_lost(*done.test_runs, done.measure)
    parts = [f"# {card.name}", done.verdict, _figures(done)]
    for title, some in (("Won", won), ("Lost", lost)):
        if some:
            shown = f", the {_SHOWN} that changed most" if len(some) > _SHOWN else ""
            parts.append(f"## {title}: {len(some)} questions{shown}")
            parts += [_question(one, COLUMNS[done.measure].label) for one in some[:_SHOWN]]
    if done.dropped:
        rows = [[why, f"{count:,}"] for why, count in done.dropped.items()]
        parts += ["## Questions that were made and not used", markdown_table(["because it", "n"], rows)]
    return "\n\n".join(parts) + "\n"


def _figures(done: "Adapted") -> str:
    sets = f"{len(done.train)} questions to train, {len(done.dev)} to pick, {len(done.held_out)} held out"
    made = [f"Index {done.index.name}, {len(done.index):,} passages. Questions: {sets}."]
    for one in done.shipped:
        made.append(f"`{one.name}`, which comes with polyqa, against the uncompiled program: {one.difference}.")
    return "\n\n".join(made)


def _question(one: Changed, metric: str) -> str:
    return "\n".join(
        [
            f"**{_text(one.old.question)}** {metric} {one.before:.0f} → {one.after:.0f}",
            "",
            f"- before: {_text(one.old.answer)}",
            f"- after: {_text(one.new.answer)}",
        ]
    )


def _text(text: str | None) -> str:
    """Return text of a stranger on one line, without markup."""
    shown = " ".join((text or "(no answer)").split())
    return "".join(f"\\{sign}" if sign in "\\`*_[]<>#|" else sign for sign in shown)


def examples(done: "Adapted", count: int) -> Sequence[Changed]:
    """Return the questions with the greatest gains and losses, ``count`` of each at most."""
    won, lost = won_and_lost(*done.test_runs, done.measure)
    return [*won[:count], *reversed(lost[:count])]
