"""Tables of runs and of comparisons, in Markdown."""

from collections.abc import Iterable, Mapping, Sequence

from polyqa.base.text import counted, p_in_words, p_text

from .columns import COLUMNS
from .comparison import Comparison, headline_of
from .runs import Run, same_questions, summarize
from .statistics import Difference, Estimate
from .verdicts import LITTLE, is_nothing

_SEEN = 0.05  # what a table of one decimal place shows
DEFAULT = (
    *("str_em", "rouge_l", "disambig_f1", "dr", "length", "mrecall@5", "g_precision", "g_recall", "g_f1"),
    *("readings", "calls", "input_tokens", "output_tokens", "seconds", "f1_answer", "exact_match", "edit_f1"),
)


def runs_table(runs: Sequence[Run], columns: Sequence[str]) -> str:
    """Return one row per run, a table per set of questions.

    A run's figures carry their 95% intervals; a column that nobody has is left out.
    """
    sets: list[list[Run]] = []
    for run in runs:
        same = next((group for group in sets if same_questions(group[0], run)), None)
        sets.append([run]) if same is None else same.append(run)
    parts = []
    for group in sets:
        parts += [f"On {_set_of(group[0])}:", ""] * (len(sets) > 1) + [_table_of(group, columns), ""]
    return "\n".join([*parts, *_notes(runs)]) + "\n"


def _table_of(runs: Sequence[Run], columns: Sequence[str]) -> str:
    """Return a table of runs of the same questions."""
    summaries = [summarize(run.records) for run in runs]
    filled = [name for name in columns if any(name in values for values in summaries)]
    rows = [
        [run.name, run.settings.lm if run.settings else "–", str(len(run.records))]
        + [estimate_text(name, values.get(name)) for name in filled]
        for run, values in zip(runs, summaries, strict=True)
    ]
    return markdown_table(["system", "LM", "n", *(COLUMNS[name].label for name in filled)], rows)


def _set_of(run: Run) -> str:
    """Return what a run's questions are called; the fingerprint is left out."""
    return run.settings.questions.rpartition(" (")[0] if run.settings else f"the questions of {run.name}"


def _notes(runs: Sequence[Run]) -> Iterable[str]:
    yield "95% bootstrap intervals over questions, in brackets; a failed question scores as an empty answer."
    for run in runs:
        failed = f"; {run.failed} of {len(run.records)} failed" if run.failed else ""
        description = "outputs of another system"
        if (ran := run.settings) is not None:
            scored = f"reader {ran.reader}, judge {ran.judge or 'none'}, index {ran.index or 'none'}"
            description = f"{ran.program}, {ran.questions}; {scored}"
            if len(run.records) < ran.n:
                failed += f"; not finished, {len(run.records)} of {counted(ran.n, 'question')}"
        yield f"- {run.name}: {description}{failed}."


def run_table(run: Run) -> str:
    """Return the headline of a run, one row per value, the headline's first, and what was run on what."""
    values, questions = run.summarized(), len(run.records)
    first = headline_of(values)
    figure = f"{COLUMNS[first].label} {estimate_text(first, values[first])}" if first else "no metric"
    failed = f", {run.failed} failed" if run.failed else ""
    rows = []
    for name in sorted(values, key=lambda name: name != first):
        of = "" if values[name].n == questions else f" (of {values[name].n})"
        rows.append([COLUMNS[name].label, estimate_text(name, values[name]), f"{COLUMNS[name].meaning}{of}"])
    head = f"{run.name}: {figure} on {counted(questions, 'question')}{failed}"
    table = markdown_table(["metric", "value", "what it is (of how many questions, if not all)"], rows)
    return "\n".join([head, "", table, "", *_notes([run])]) + "\n"


def comparison_tables(comparison: Comparison, *, everything: bool = True) -> str:
    """Return a comparison as Markdown: what comes of it in a sentence, the metrics, the headline metric by kind.

    Parameters
    ----------
    everything
        All metrics and breakdowns, or the headline metric and what differs.
    """
    metrics, *breakdowns = _breakdowns(comparison).items()
    headline = COLUMNS[comparison.headline].label
    sections = {
        name: rows if everything else {key: row for key, row in rows.items() if _differs(row) or key == headline}
        for name, rows in (metrics, *breakdowns)
    }
    parts = [
        f"A: {comparison.a}\nB: {comparison.b}\n{counted(comparison.n, 'question')} in both"
        + (f" (only in A: {comparison.only_a})" if comparison.only_a else "")
        + (f" (only in B: {comparison.only_b})" if comparison.only_b else "")
        + ".",
        outcome(comparison),
        *(f"Careful: {caution}" for caution in comparison.cautions),
    ]
    for title, rows in sections.items():
        if rows:
            head = "" if title == "metric" else f"{headline} by {title}:\n\n"
            parts.append(head + _differences(title, rows))
    if equal := len(metrics[1]) - len(sections["metric"]):
        equals = "metric is equal" if equal == 1 else f"{equal} metrics are equal"
        parts.append(f"The other {equals}; --all shows {'it' if equal == 1 else 'them'}.")
    parts.append("Intervals: 95% paired bootstrap; p: two-sided permutation test; wins, ties, losses of B.")
    return "\n\n".join(parts) + "\n"


def outcome(comparison: Comparison) -> str:
    """Return in a sentence whether B is better than A by the headline metric, and how many calls more that takes."""
    column, change = COLUMNS[comparison.headline], comparison.metrics[comparison.headline]
    figures = f"{change.a:.1f} → {change.b:.1f}, {change}, {p_in_words(change.p)}"
    if not _differs(change):
        sentence = f"No difference in {column.label}: {change.a:.1f}"
    elif column.percent and is_nothing(change.low, change.high, change.n):
        sentence = f"No real difference in {column.label}: {figures}"
    elif change.sign and (not column.percent or max(-change.low, change.high) >= LITTLE):
        words = ("lower", "higher") if column.higher_is_better is None else ("worse", "better")
        more = (change.difference > 0) is (column.higher_is_better is not False)
        sentence = f"B is {words[more]} in {column.label}: {figures}"
    else:
        sentence = f"Which is better in {column.label} cannot be told with {counted(change.n, 'question')}: {figures}"
    calls = comparison.metrics.get("calls")
    if calls is not None and abs(calls.difference) >= _SEEN:
        direction = "more" if calls.difference > 0 else "fewer"
        sentence += f"; B makes {abs(calls.difference):.1f} calls {direction} a question"
    return f"{sentence}."


def _differs(difference: Difference) -> bool:
    """Return whether a difference is seen in a table, or in a single question."""
    return abs(difference.difference) >= _SEEN or difference.wins + difference.losses > 0


def _breakdowns(comparison: Comparison) -> dict[str, Mapping[str, Difference]]:
    """Return all metrics, and the groups of the headline metric that are not empty, by the name of their rows."""
    metrics = {COLUMNS[name].label: difference for name, difference in comparison.metrics.items()}
    groups = {"ambiguity": comparison.by_ambiguity, "gold readings": comparison.by_readings}
    return {"metric": metrics, **{title: rows for title, rows in groups.items() if rows}}


def _differences(head: str, differences: Mapping[str, Difference]) -> str:
    rows = []
    for name, d in differences.items():
        counts = (d.wins, d.ties, d.losses)  # all 0 for what is neither better nor worse
        record = " / ".join(map(str, counts)) if any(counts) else "–"
        rows.append([name, str(d.n), f"{d.a:.1f}", f"{d.b:.1f}", str(d), p_text(d.p), record])
    return markdown_table([head, "n", "A", "B", "difference", "p", "win / tie / loss"], rows)


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
