"""What a notebook shows of a run and of a comparison: HTML without scripts."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from polyqa.base.html import Html, html_block, html_facts, html_table, shortened, tag

from .columns import COLUMNS
from .statistics import Difference
from .tables import estimate_text, p_text, record_text

if TYPE_CHECKING:
    from .comparison import Comparison
    from .runs import Run

_FAILURES = 5


def run_html(run: "Run") -> str:
    """Return what was run on what, every corpus value with its interval, and the first questions that failed."""
    made = run.settings
    facts = (
        {
            "program": made.program,
            "language model": made.lm,
            "questions": made.questions,
            "index": made.index or "none",
            "reader": made.reader,
            "judge": made.judge or "none",
        }
        if made
        else {"program": "outputs of another system"}
    )
    rows = [(COLUMNS[name].label, estimate_text(name, value), str(value.n)) for name, value in run.summarized().items()]
    return html_block(
        tag("p", tag("b", run.name), f": {run}"),
        html_facts(facts),
        html_table(("metric", "value [95% interval]", "n"), rows, numbers=(1, 2)),
        *_failures(run),
    )


def _failures(run: "Run") -> list[Html]:
    failed = [(one.question, one.error) for one in run.records if one.error is not None]
    if not failed:
        return []
    rows = [
        (shortened(question, 200), shortened(f"{error.kind}: {error.message}", 300))
        for question, error in failed[:_FAILURES]
    ]
    told = f"{run.failed} failed" + (f", the first {_FAILURES}" if run.failed > _FAILURES else "")
    return [tag("details", tag("summary", told), html_table(("question", "error"), rows))]


def comparison_html(comparison: "Comparison") -> str:
    """Return all metrics, the breakdowns of the headline metric, and what to be careful about."""
    label = COLUMNS[comparison.headline].label
    groups = {"ambiguity": comparison.by_ambiguity, "gold readings": comparison.by_readings}
    metrics = {COLUMNS[name].label: one for name, one in comparison.metrics.items()}
    return html_block(
        tag("p", tag("b", comparison.b), " against ", tag("b", comparison.a), f", {comparison.n} questions in both"),
        *(tag("p", tag("b", "Careful: "), caution) for caution in comparison.cautions),
        _differences("metric", metrics, comparison),
        *(
            tag("details", tag("summary", f"{label} by {title}"), _differences(title, own, comparison))
            for title, own in groups.items()
            if own
        ),
        tag(
            "p",
            "Intervals: 95% paired bootstrap; p: two-sided permutation test; wins, ties, losses of the second.",
            class_="quiet",
        ),
    )


def _differences(head: str, rows: Mapping[str, Difference], comparison: "Comparison") -> Html:
    return html_table(
        (head, "n", comparison.a, comparison.b, "difference", "p", "win / tie / loss"),
        [
            (name, str(one.n), f"{one.a:.1f}", f"{one.b:.1f}", str(one), p_text(one.p), record_text(one))
            for name, one in rows.items()
        ],
        numbers=range(1, 7),
    )
