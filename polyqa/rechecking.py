"""Whether a compiled program's figures still hold: it is scored again, in pairs with the scores that its card is of."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import dspy
import numpy as np

from polyqa.artifacts.card import MOST_FAILED, Card, Figure, Gain, IndexCard
from polyqa.artifacts.scores import SetScores, read_scores
from polyqa.artifacts.store import SCORES, Artifact, read_artifact
from polyqa.base.errors import PolyqaError
from polyqa.base.ledger import differences
from polyqa.base.text import counted
from polyqa.base.values import json_data
from polyqa.colbert_index import ColBERTIndex
from polyqa.evaluation.columns import COLUMNS
from polyqa.evaluation.loading import questions_fingerprint
from polyqa.evaluation.records import column_scores
from polyqa.evaluation.runs import Run
from polyqa.evaluation.statistics import Difference, Estimate, Scores, compare
from polyqa.evaluation.verdicts import FEW, LITTLE
from polyqa.lm.adapter import adapter_name
from polyqa.lm.assigned import names_of, own_lms, sampling
from polyqa.metrics.gold import Question
from polyqa.metrics.optimizing import MEASURES

from .adapting import QUESTIONS
from .evaluating import evaluate, run_name
from .language_models import Models, shared_reader
from .loading import index_of, load
from .question_sets import Given, Questions, as_questions

Outcome = Literal["holds", "lost", "cannot be told"]
_SAME = 1e-3  # what a card's figures are rounded to


@dataclass(frozen=True)
class Rechecked:
    """What scoring an artifact again says.

    Attributes
    ----------
    name, on, metric
        The artifact's name; ``test`` or ``dev``; and the column of `COLUMNS` that its card reports.
    run
        Of the compiled program, now.
    then, now
        The card's figure, and that of the run.
    change
        Now minus then, question by question; ``None`` if the artifact keeps no scores of its questions.
    gain
        Now minus the uncompiled program of then, question by question; ``None`` also where another language model
        answered now, or another reader scored.
    changed
        In words what else differs from what the card says; empty if nothing does.
    failed_then
        How many questions failed when the card's figure was made.
    """

    name: str
    on: str
    metric: str
    run: Run
    then: Figure
    now: Estimate
    change: Difference | None
    gain: Difference | None
    changed: str
    failed_then: int = 0

    @property
    def outcome(self) -> Outcome:
        """``holds`` if less than a point is surely the most that was lost, ``lost`` if surely something was lost.

        A few questions that stayed as they were show neither, see `verdicts.FEW`, unless nothing at all has changed.
        """
        if max(self.failed_then, self.run.failed) > MOST_FAILED * len(self.run.records):
            return "cannot be told"
        if self.change is None:
            return "holds" if abs(self.now.value - self.then.value) < _SAME else "cannot be told"
        if self.change.sign > 0 or (self.change.low > -LITTLE and (self.change.n >= FEW or not self.changed)):
            return "holds"
        return "lost" if self.change.sign < 0 else "cannot be told"

    @property
    def verdict(self) -> str:
        """The outcome in a sentence, with its figures and what changed."""
        column = COLUMNS[self.metric]
        n = counted(self.now.n, f"{self.on} question")
        figures = f"{column.label} {self.then.value:.1f} → {self.now.value:.1f}"
        told = {
            "holds": f"{self.name} holds{' and is better now' if self.change and self.change.sign > 0 else ''}",
            "lost": f"{self.name} has lost",
            "cannot be told": f"Whether {self.name} holds cannot be told",
        }[self.outcome]
        if self.change is not None:
            evidence = f"{figures}, {self.change} on {n}"
        else:
            then = f"{column.label} {self.then} → {self.now}"
            evidence = f"{then} on {n}, not in pairs, as it keeps no scores of its questions"
        if self.run.failed or self.failed_then:
            evidence += f", {self.failed_then} failed then and {self.run.failed} now"
        changed = f"changed since: {self.changed}" if self.changed else "nothing that its card names has changed"
        gain = "" if self.gain is None else f" Against the uncompiled program then: {self.gain}."
        return f"{told}: {evidence}; {changed}.{gain}"

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome with its figures as JSON data."""
        return {
            "artifact": self.name,
            "outcome": self.outcome,
            "verdict": self.verdict,
            "on": self.on,
            "metric": self.metric,
            "then": self.then.model_dump(),
            "now": json_data(self.now),
            "change": json_data(self.change),
            "gain": json_data(self.gain),
            "changed": self.changed,
            "failed": self.run.failed,
        }


def recheck(
    artifact: str | Path,
    questions: Given | None = None,
    *,
    models: Models | str | dspy.LM = Models(),
    index: str | Path | None = None,
    folder: str | Path | None = None,
    threads: int | None = None,
) -> Rechecked:
    """Score a compiled program again, on the questions its card reports last; a stopped run goes on.

    Parameters
    ----------
    artifact
        Its name or folder. Another version of DSPy, or other passages in its index, are no error here but part of the
        answer.
    questions
        A set that has the questions; by default ``questions.json`` in the artifact's folder, or what its card names.
    models
        What answers, helps and scores.
    index
        See `polyqa.load`.
    folder
        Of the run; by default in ``runs/``, a name of its own for each language model and version of DSPy.
    threads
        See `polyqa.evaluate`.

    Raises
    ------
    PolyqaError
        If there is no artifact, its card reports no figures, its questions are not found or are others by now, or it
        cannot be loaded.
    """
    models = Models.of(models)
    found = read_artifact(artifact)
    card = found.card
    on, gain = ("test", card.test_gain) if card.test_gain is not None else ("dev", card.dev_gain)
    if gain is None:
        raise PolyqaError(f"{found.path}: its card reports no figures, so there is nothing to check again.")
    scores = read_scores(found)
    kept: SetScores | None = getattr(scores, on, None)
    _check_scores(found, gain, kept)
    asked = _questions(found, gain, kept, questions)
    models = replace(models.instantiated(), judge=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # what changed is part of the answer
        where = card.index.condition if card.index else None
        program = load(found.path, index=index, where=where, helper_lm=models.helping())
    lm = models.answering()
    changed = _changed(card, program, lm, models)
    given = Questions(asked, name=gain.data.source)
    if folder is None:
        short = run_name(card.name, given, str(lm.model), helper_lm=names_of(own_lms(program)))
        folder = Path("runs") / f"{short}--recheck-dspy-{version('dspy')}"
    run = evaluate(program, given, models=replace(models, helper_lm=None), folder=folder, threads=threads)
    column = COLUMNS[gain.metric]
    now: Scores = column_scores(run.records, column.scores)
    same_model = not {"language model", "reader"} & changed.keys()
    return Rechecked(
        name=card.name,
        on=on,
        metric=gain.metric,
        run=run,
        then=gain.after,
        now=run.summarized()[gain.metric],
        change=compare(column, _arrays(kept.after, column.scores), now) if kept else None,
        gain=compare(column, _arrays(kept.before, column.scores), now) if kept and same_model else None,
        changed=differences(*({name: pair[side] for name, pair in changed.items()} for side in (0, 1))),
        failed_then=gain.failed_after,
    )


def _check_scores(artifact: Artifact, gain: Gain, kept: SetScores | None) -> None:
    """Refuse what a stranger's files name and nothing can be scored by, before anything is asked."""
    if gain.metric not in MEASURES:
        raise PolyqaError(
            f"{artifact.path}: its card reports {gain.metric!r:.80}, which this version of polyqa does not measure."
        )
    if kept and (missing := sorted(set(COLUMNS[gain.metric].scores) - kept.after.keys())):
        raise PolyqaError(f"{artifact.path / SCORES} has no {missing[0]}. Remove it; the card's figures stay.")


def _arrays(values: Mapping[str, Sequence[float | None]], names: Sequence[str]) -> Scores:
    return [np.array(values[name], dtype=np.float64) for name in names]  # of None it makes NaN


def _questions(artifact: Artifact, gain: Gain, kept: SetScores | None, given: Given | None) -> list[Question]:
    """Return the questions of a card's figures, in their order."""
    own = artifact.path / QUESTIONS
    source: Given = given if given is not None else own if own.exists() else gain.data.source
    try:
        asked = as_questions(source).asked
    except PolyqaError as error:
        if given is not None:
            raise
        raise PolyqaError(
            f"{artifact.path}: its figures are of {gain.data.source!r:.120}, which is not here ({error}). Name the "
            "file with --questions."
        ) from error
    by_id = {question.id: question for question in asked}
    ids = list(by_id) if kept is None else kept.ids
    if kept and (missing := [id for id in ids if id not in by_id]):
        raise PolyqaError(
            f"{artifact.path}: {len(missing)} of its {len(kept.ids)} questions, such as {missing[0]!r:.60}, are not in "
            f"{source!s:.80}. Name the file that has them with --questions."
        )
    found = [by_id[id] for id in ids]
    if questions_fingerprint(found) != gain.data.fingerprint:  # ids may be the numbers of rows
        raise PolyqaError(
            f"{artifact.path}: its figures are of other questions than {source!s:.80} has, or of other answers to "
            "them. Name the file that they are of with --questions."
        )
    return found


def _changed(card: Card, program: dspy.Module, lm: dspy.LM, models: Models) -> dict[str, tuple[Any, Any]]:
    """Return what is not as the card says, each then and now."""
    # Where its replies are replayed from is no setting of the model.
    then, now = (
        {name: value for name, value in settings.items() if name != "replays"}
        for settings in (card.lm_settings, json_data(sampling(lm)))
    )
    pairs: dict[str, tuple[Any, Any]] = {
        "DSPy": (card.versions.get("dspy"), version("dspy")),
        "polyqa": (card.versions.get("polyqa"), version("polyqa")),
        "adapter": (card.adapter, adapter_name()),
        "language model": (card.lm, str(lm.model)),
        "its settings": (then, now),
        "helper": (card.helper_lm, names_of(own_lms(program))),
        "reader": (card.reader, shared_reader(models.reader).name),
        "index": (_index(card.index), _index(index_of(program))),
    }
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _index(index: IndexCard | ColBERTIndex | None) -> str | None:
    return None if index is None else f"{index.name} ({index.fingerprint})"
