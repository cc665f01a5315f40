"""What a compilation did, as one page: whether it helped, what was tried, what changed, what it cost."""

import difflib
import re
from collections.abc import Iterator
from dataclasses import astuple
from typing import Any

import dspy
from markupsafe import Markup

from polyqa.artifacts.card import Card, Gain
from polyqa.artifacts.showing import gain_texts
from polyqa.artifacts.state import dump_program
from polyqa.base.html import render
from polyqa.evaluation.columns import COLUMNS
from polyqa.evaluation.comparison import difference_in
from polyqa.evaluation.runs import Run
from polyqa.evaluation.verdicts import verdict, won_and_lost
from polyqa.optimizers.compiler import Compiled
from polyqa.optimizers.copied import LEAST
from polyqa.optimizers.prompts import demo_text, prompt_head

BEGINNING = Markup(
    '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'\">"
)
"""How every page begins: with what keeps a browser from running a script in it, or asking the network for anything."""
MOST_QUESTIONS = 20
"""Questions of each kind at most, those that changed most."""
OPEN_DEMOS, MOST_DEMOS = 3, 50
"""Demos of a predictor that are shown at once, and that are on the page at all."""
_DROPPED = 8
"""Candidates that led nowhere are folded if there are more."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_FIELD = re.compile(r"\A- (?=\w+ \((?:in|out)put\): )")
_SIGNS = {"+": ("added", "+ "), "-": ("removed", "− "), " ": ("same", "")}


def compilation_report(card: Card, student: dspy.Module, compiled: Compiled) -> str:
    """Return the page, which needs nothing but itself; ``student`` is the program as it was.

    Of the runs on test the questions are not shown: who reads them and compiles again has tested on questions that were
    seen.
    """
    gains = card.gains
    runs = {"dev": (compiled.before, compiled.after), "test": compiled.test_runs}
    label = COLUMNS[card.measure].label
    won, lost = won_and_lost(compiled.before, compiled.after, card.measure)
    return render(
        "report.html",
        beginning=BEGINNING,
        card=card,
        verdicts={name: _verdict(runs[name], gain) for name, gain in gains.items()},
        figures=[[f"{name}: {gain.data.source}", gain.before.n, *gain_texts(gain)] for name, gain in gains.items()],
        label=label,
        candidates=len(compiled.trials) - 2,
        trials=compiled.trials,
        dropped=[trial for trial in compiled.trials if not trial.kept],
        most_dropped=_DROPPED,
        unchanged=dump_program(student) == dump_program(compiled.program),
        predictors=list(_predictors(student, compiled.program)),
        open_demos=OPEN_DEMOS,
        copied=compiled.copied,
        copied_rows=[astuple(repeated) for repeated in compiled.copied[:MOST_QUESTIONS]],
        least=LEAST,
        changed={"Won": won, "Lost": lost},
        ties=len(compiled.after.records) - len(won) - len(lost),
        most=MOST_QUESTIONS,
        tested=compiled.test_runs is not None,
    )


def _verdict(runs: tuple[Run, Run] | None, gain: Gain) -> str:
    """Return the sentence; of a difference that says nothing, why."""
    if runs is None or not gain.tells:
        return f"{gain.failures}."
    return verdict(difference_in(*runs, gain.metric), what="Compiling", metric=COLUMNS[gain.metric].label)


def _predictors(before: dspy.Module, after: dspy.Module) -> Iterator[dict[str, Any]]:
    """Yield per predictor its name, how its prompt changed line by line, and its demos."""
    old = dict(before.named_predictors())
    for name, predictor in after.named_predictors():
        # The first two lines of a diff name files, which there are none of.
        changes = list(difflib.unified_diff(_lines(old[name]), _lines(predictor), lineterm="", n=1))[2:]
        k = getattr(predictor, "k", None)
        texts = (demo_text(demo, list(predictor.signature.fields)) for demo in predictor.demos[:MOST_DEMOS])
        yield {
            "name": name,
            "whole": {"before": prompt_head(old[name]), "after": prompt_head(predictor)},
            "changes": [("gap", "", "…") if line[0] == "@" else (*_SIGNS[line[0]], line[1:]) for line in changes],
            "demos": [[line.partition(": ")[::2] for line in text.splitlines()] for text in texts],
            "count": len(predictor.demos),
            "shows": f"each call shows the {k} nearest" if k is not None else "each call shows them all",
        }


def _lines(predictor: dspy.Predict) -> list[str]:
    """Return what stands before the demos, a sentence a line: instructions are long lines, and differ in a clause."""
    # The list of the fields has dashes, which would be taken for what was removed.
    lines = [_FIELD.sub("field ", line) for line in prompt_head(predictor).splitlines()]
    return [sentence for line in lines if line.strip() for sentence in _SENTENCE.split(line.strip())]
