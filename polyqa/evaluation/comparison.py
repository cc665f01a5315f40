"""Compares two runs question by question."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from polyqa.base.errors import PolyqaError
from polyqa.base.html import shortened
from polyqa.base.text import counted
from polyqa.base.values import json_data
from polyqa.evaluation.statistics import Difference, Scores, compare

from .columns import COLUMNS
from .identity import ALCES_CUT
from .records import Record, column_scores
from .runs import Run, same_questions

HEADLINE = ("dr", "f1_answer", "disambig_f1", "str_em")
FEWEST = 2  # a group of fewer questions is not broken out


@dataclass(frozen=True)
class Comparison:
    """Run B against run A.

    Attributes
    ----------
    a, b
        Their names.
    n
        Questions that both answered (or failed); ``only_a`` and ``only_b`` have no partner.
    metrics
        Every corpus metric that both allow.
    headline
        The metric of the breakdowns.
    by_ambiguity, by_readings
        The headline metric per ambiguity type, and per number of gold readings.
    cautions
        Why some figures do not compare: the runs have different readers, judges, indexes or gold answers, or it is
        not known which they had; and how many questions failed.
    """

    a: str
    b: str
    n: int
    only_a: int
    only_b: int
    metrics: Mapping[str, Difference]
    headline: str
    by_ambiguity: Mapping[str, Difference]
    by_readings: Mapping[str, Difference]
    cautions: Sequence[str] = ()

    def __repr__(self) -> str:
        names = f"{shortened(self.b, 80)!r} against {shortened(self.a, 80)!r}"
        headline = f"{COLUMNS[self.headline].label} {self.metrics[self.headline]}"
        return f"Comparison({names}, {self.n} questions, {headline})"

    def to_markdown(self) -> str:
        """Return all metrics and the breakdowns of the headline metric, as tables in Markdown."""
        from .tables import comparison_tables

        return comparison_tables(self)

    def _repr_markdown_(self) -> str:
        """Return what a notebook shows."""
        return escape(self.to_markdown(), quote=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON data; where there is no interval its ends are ``None``."""
        return dict(json_data(self))


def difference_in(a: Run, b: Run, metric: str) -> Difference:
    """Compare two runs in one metric; see `compare_runs`, which takes as much longer as there are other metrics."""
    difference = compare(COLUMNS[metric], *_paired(metric, shared_records(a, b)))
    if difference is None:
        raise PolyqaError(f"There is no metric {metric!r} in both runs.")
    return difference


def shared_records(a: Run, b: Run) -> list[tuple[Record, Record]]:
    """Return the records of the questions that both runs have; an error if there is none, or one differs."""
    records_of_a, records_of_b = ({record.id: record for record in run.records} for run in (a, b))
    shared = [id for id in records_of_a if id in records_of_b]
    if not shared:
        raise PolyqaError(f"{a.path} and {b.path} have no question in common.")
    for id in shared:
        if records_of_a[id].question != records_of_b[id].question:
            raise PolyqaError(f"Question {id!r} differs between {a.path} and {b.path}; these are different data sets.")
    return [(records_of_a[id], records_of_b[id]) for id in shared]


def compare_runs(a: Run, b: Run, *, headline: str | None = None) -> Comparison:
    """Compare two runs over the same questions.

    Parameters
    ----------
    a, b
        Runs; questions are paired by id.
    headline
        The metric to break down; the first of DR, F1 answer, D-F1, STR-EM that both have.

    Raises
    ------
    PolyqaError
        If no question is in both, a question differs, or the metric is unknown.
    """
    pairs = shared_records(a, b)
    scores = {name: _paired(name, pairs) for name in COLUMNS}
    compared = {name: compare(COLUMNS[name], *paired) for name, paired in scores.items()}
    metrics = {name: difference for name, difference in compared.items() if difference is not None}
    chosen = headline or headline_of(metrics) or next(iter(metrics))
    if chosen not in metrics:
        raise PolyqaError(f"There is no metric {headline!r} in both runs; there are {', '.join(metrics)}.")

    return Comparison(
        a=a.name,
        b=b.name,
        n=len(pairs),
        cautions=[*_cautions(a, b), *_failures(a, b, pairs)],
        only_a=len(a.records) - len(pairs),
        only_b=len(b.records) - len(pairs),
        metrics=metrics,
        headline=chosen,
        by_ambiguity=_groups(chosen, scores[chosen], [record.ambiguity for record, _ in pairs]),
        by_readings=_groups(chosen, scores[chosen], [record.gold_readings for record, _ in pairs]),
    )


def headline_of(metrics: Iterable[str]) -> str | None:
    """Return the metric that tells most of a run: the first of DR, F1 answer, D-F1, STR-EM that it has."""
    has = set(metrics)
    return next((name for name in HEADLINE if name in has), None)


def _paired(name: str, pairs: Sequence[tuple[Record, Record]]) -> tuple[Scores, Scores]:
    a, b = (column_scores([pair[side] for pair in pairs], COLUMNS[name].scores) for side in (0, 1))
    return a, b


def _groups(name: str, scores: tuple[Scores, Scores], keys: Sequence[Any]) -> dict[str, Difference]:
    differences = {}
    for key in sorted({key for key in keys if key is not None}):
        of_group = np.array([other == key for other in keys])
        if of_group.sum() >= FEWEST:
            a, b = ([values[of_group] for values in side] for side in scores)
            differences[str(key)] = compare(COLUMNS[name], a, b)
    return {key: difference for key, difference in differences.items() if difference is not None}


def _failures(a: Run, b: Run, pairs: Sequence[tuple[Record, Record]]) -> list[str]:
    failed = [sum(pair[side].error is not None for pair in pairs) for side in (0, 1)]
    return [
        f"{run.name}: {count} of {counted(len(pairs), 'question')} failed; these score as empty answers."
        for run, count in zip((a, b), failed, strict=True)
        if count
    ]


_MATTERS = {
    "reader": "D-F1 and DR",
    "judge": "the grounded metrics",
    "index": "retrieval",
}
_OF_THE_TEXT = "D-F1, R-L, DR, STR-EM, LEN and EM"


def _cautions(a: Run, b: Run) -> list[str]:
    if a.settings is None or b.settings is None:
        unknown = " and ".join(run.name for run in (a, b) if run.settings is None)
        return [f"{unknown}: outputs of another system; compare only if the same reader and judge scored them."]
    cautions = []
    if not same_questions(a, b) and {record.id for record in a.records} == {record.id for record in b.records}:
        cautions.append("The ids are the same, the gold answers or the order differ: scores may not compare.")
    for field, metrics in _MATTERS.items():
        left, right = getattr(a.settings, field), getattr(b.settings, field)
        if left != right and (field != "index" or (left and right)):
            if field == "reader" and left.endswith(ALCES_CUT) is not right.endswith(ALCES_CUT):
                metrics = _OF_THE_TEXT  # not only what the reader scores: it is another text
            cautions.append(f"The {field} differs ({left or 'none'}; {right or 'none'}): {metrics} do not compare.")
    return cautions
