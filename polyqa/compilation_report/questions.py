"""The questions that compiling won and lost, with both answers side by side."""

from collections.abc import Sequence

from polyqa.base.html import Html, joined, shortened, tag
from polyqa.base.text import counted
from polyqa.evaluation.columns import COLUMNS
from polyqa.evaluation.records import Record
from polyqa.evaluation.runs import Run
from polyqa.evaluation.verdicts import Changed, won_and_lost

SHOWN = 20
"""Questions of each kind at most, those that changed most."""
_LONGEST = 1_500


def questions(before: Run, after: Run, metric: str, *, tested: bool) -> Html:
    """Return both lists, and how many questions are as they were.

    Parameters
    ----------
    metric
        By which they are won or lost.
    tested
        Whether there are test questions, too. They are not shown: who reads them and compiles again has tested on
        questions that were seen.
    """
    won, lost = won_and_lost(before, after, metric)
    drawn = len(after.records) - len(won) - len(lost)
    told = f"{len(won)} won, {len(lost)} lost, {drawn} drawn by {COLUMNS[metric].label}."
    if tested:
        told += " Test questions are not shown, so that they stay unseen."
    parts = [tag("p", told)]
    for title, some in (("Won", won), ("Lost", lost)):
        if some:
            limit = f", the {SHOWN} that changed most" if len(some) > SHOWN else ""
            parts += [tag("h3", f"{title}: {counted(len(some), 'question')}{limit}"), *_pairs(some[:SHOWN], metric)]
    return joined(parts)


def _pairs(some: Sequence[Changed], metric: str) -> list[Html]:
    label = COLUMNS[metric].label
    return [tag("div", tag("p", tag("b", one.old.question)), _answers(label, one)) for one in some]


def _answers(label: str, one: Changed) -> Html:
    return tag(
        "div", _side("before", label, one.before, one.old), _side("after", label, one.after, one.new), class_="answers"
    )


def _side(name: str, label: str, score: float, record: Record) -> Html:
    head = tag("p", f"{name}: {label} {score:.0f}", class_="quiet")
    if record.error is not None:
        return tag("div", head, tag("p", f"failed: {shortened(record.error.message, 300)}"))
    answer = shortened(record.answer or "", _LONGEST)
    readings = [f"{reading.question} → {reading.answer}" for reading in record.interpretations]
    text = tag("p", answer or "(no answer)")
    if answer or not readings:
        return tag("div", head, text)
    return tag("div", head, *(tag("p", shortened(one, 300)) for one in readings))
