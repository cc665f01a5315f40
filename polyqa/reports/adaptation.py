"""What adapting brought, as a page: a sentence, the figures, and the questions that were won and lost."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from polyqa.base.html import render
from polyqa.evaluation.columns import COLUMNS
from polyqa.evaluation.verdicts import Changed, won_and_lost

if TYPE_CHECKING:
    from polyqa.adapting import Adapted

_MOST = 20


def adaptation_report(adapted: "Adapted") -> str:
    """Return the page as Markdown."""
    won, lost = won_and_lost(*adapted.test_runs, adapted.measure)
    label, changed = COLUMNS[adapted.measure].label, {"Won": won, "Lost": lost}
    dropped = [(reason, f"{count:,}") for reason, count in adapted.dropped.items()]
    return render("adaptation.md", adapted=adapted, label=label, changed=changed, most=_MOST, dropped=dropped)


def examples(adapted: "Adapted", count: int) -> Sequence[Changed]:
    """Return the questions with the greatest gains and losses, ``count`` of each at most."""
    won, lost = won_and_lost(*adapted.test_runs, adapted.measure)
    return [*won[:count], *reversed(lost[:count])]
