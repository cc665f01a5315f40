"""Tables of runs beside the published figures, and of comparisons: Markdown, and what a notebook shows."""

from collections.abc import Iterable, Mapping, Sequence

from polyqa.base.html import render, shortened
from polyqa.base.text import counted

from .columns import COLUMNS
from .comparison import Comparison
from .published import Published
from .runs import Run, summarize
from .statistics import Difference, Estimate

LONG_FORM = ("str_em", "rouge_l", "disambig_f1", "dr", "length")
SHORT_FORM = ("f1_answer", "exact_match", "edit_f1")
GROUNDED = ("g_precision", "g_recall", "g_f1")
COST = ("readings", "calls", "input_tokens", "output_tokens", "seconds")
_FAILURES = 5
_INTERVALS = "Intervals: 95% paired bootstrap; p: two-sided permutation test; wins, ties, losses of the second."
DEFAULT = (*LONG_FORM, "mrecall@5", *GROUNDED, *COST)


def runs_table(runs: Sequence[Run], columns: Sequence[str], published: Sequence[Published] = ()) -> str:
    """Return one row per run, then the published rows.

    A run's figures carry their 95% intervals; a column that nobody has is left out. Published rows were
    made with other readers, judges, corpora and language models, which the note below the table says.
    """
    summaries = [summarize(run.records) for run in runs]
    known = {name for values in summaries for name in values}
    filled = [name for name in columns if name in known]
    rows = []
    for run, values in zip(runs, summaries, strict=True):
        lm = run.settings.lm if run.settings else "–"
        cells = [estimate_text(name, values.get(name)) for name in filled]
        rows.append([run.name, lm, str(len(run.records)), *cells])
    beside = [paper for paper in published if set(filled) & set(paper.metrics)]
    for paper in beside:
        cells = [f"{paper.metrics[name]:.1f}" if name in paper.metrics else "–" for name in filled]
        rows.append([f"*{paper.system}*", paper.lm, "948", *cells])
    table = markdown_table(["system", "LM", "n", *(COLUMNS[name].label for name in filled)], rows)
    return "\n".join([table, "", *_notes(runs, beside)]) + "\n"


def _notes(runs: Sequence[Run], published: Sequence[Published]) -> Iterable[str]:
    yield "95% bootstrap intervals over questions, in brackets; a failed question scores as an empty answer."
    for run in runs:
        failed = f"; {run.failed} of {len(run.records)} failed" if run.failed else ""
        if run.settings and len(run.records) < run.settings.n:
            failed += f"; not finished, {len(run.records)} of {counted(run.settings.n, 'question')}"
        if run.settings is None:
            yield f"- {run.name}: outputs of another system{failed}."
            continue
        ran = run.settings
        parts = [f"reader {ran.reader}", f"judge {ran.judge or 'none'}", f"index {ran.index or 'none'}"]
        yield f"- {run.name}: {ran.program}, {ran.questions}; {', '.join(parts)}{failed}."
    if published:
        sources = "; ".join(dict.fromkeys(paper.source for paper in published))
        yield (
            f"- In italics, from the papers ({sources}): the whole dev set, RoBERTa-large as the reader, "
            "Wikipedia and the web as the corpus, language models as judges. Not made with our reader or corpus."
        )


def run_html(run: Run) -> str:
    """Return what a notebook shows of a run: what was run on what, every corpus value, the first failures."""
    facts = {"program": "outputs of another system"}
    if run.settings is not None:
        names = {"lm": "language model"}
        fields = ("program", "lm", "questions", "index", "reader", "judge")
        facts = {names.get(field, field): getattr(run.settings, field) or "none" for field in fields}
    values = [(COLUMNS[name].label, estimate_text(name, value), value.n) for name, value in run.summarized().items()]
    failures = [
        (shortened(record.question, 200), shortened(f"{record.error.kind}: {record.error.message}", 300))
        for record in run.records
        if record.error is not None
    ]
    return render("run.html", name=run.name, run=run, facts=facts, values=values, failures=failures, most=_FAILURES)


def comparison_html(comparison: Comparison) -> str:
    """Return what a notebook shows of a comparison: all metrics, the breakdowns, and what to be careful about."""
    tables = [(title, *_differences(title, rows, comparison)) for title, rows in _breakdowns(comparison).items()]
    label = COLUMNS[comparison.headline].label
    return render("comparison.html", comparison=comparison, label=label, tables=tables, note=_INTERVALS)


def comparison_tables(comparison: Comparison) -> str:
    """Return a comparison as Markdown: all metrics, then the breakdowns of the headline metric."""
    parts = [
        f"{comparison.b} against {comparison.a}, {counted(comparison.n, 'question')} in both"
        + (f" (only in {comparison.a}: {comparison.only_a})" if comparison.only_a else "")
        + (f" (only in {comparison.b}: {comparison.only_b})" if comparison.only_b else "")
        + ".",
        *(f"Careful: {caution}" for caution in comparison.cautions),
    ]
    label = COLUMNS[comparison.headline].label
    for title, rows in _breakdowns(comparison).items():
        head = "" if title == "metric" else f"{label} by {title}:\n\n"
        parts.append(head + markdown_table(*_differences(title, rows, comparison)))
    return "\n\n".join([*parts, _INTERVALS]) + "\n"


def _breakdowns(comparison: Comparison) -> dict[str, Mapping[str, Difference]]:
    """Return all metrics, and the groups of the headline metric that are not empty, by the name of their rows."""
    metrics = {COLUMNS[name].label: difference for name, difference in comparison.metrics.items()}
    groups = {"ambiguity": comparison.by_ambiguity, "gold readings": comparison.by_readings}
    return {"metric": metrics, **{title: rows for title, rows in groups.items() if rows}}


def _differences(
    head: str, differences: Mapping[str, Difference], comparison: Comparison
) -> tuple[list[str], list[list[str]]]:
    """Return the head and the rows of a table."""
    rows = [
        [name, str(d.n), f"{d.a:.1f}", f"{d.b:.1f}", str(d), p_text(d.p), record_text(d)]
        for name, d in differences.items()
    ]
    return [head, "n", comparison.a, comparison.b, "difference", "p", "win / tie / loss"], rows


def p_text(p: float) -> str:
    """Return a p as a text.

    >>> p_text(0.0312), p_text(0.00001)
    ('0.031', '<0.001')
    """
    return f"{p:.3f}" if p >= 0.001 else "<0.001"


def record_text(difference: Difference) -> str:
    """Return how many questions were won, tied and lost; a dash for what is neither better nor worse."""
    counts = (difference.wins, difference.ties, difference.losses)
    return " / ".join(map(str, counts)) if any(counts) else "–"


def estimate_text(name: str, value: Estimate | None) -> str:
    """Return a corpus value, with its interval if it is a score."""
    if value is None:
        return "–"
    return str(value) if COLUMNS[name].percent else amount_text(name, value.value)


def amount_text(name: str, value: float) -> str:
    """Return a corpus value without its interval."""
    if name in ("input_tokens", "output_tokens", "length"):
        return f"{value:,.0f}"
    return f"{value:.2f}" if name == "seconds" else f"{value:.1f}"


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |" for cells in lines)
