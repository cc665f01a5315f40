"""The page: a sentence, the figures, what was tried, what changed in the prompts, and question by question."""

import dspy

from polyqa.artifacts.card import Card, Gain
from polyqa.artifacts.showing import change_text, figure_text
from polyqa.base.html import Html, html_facts, html_table, joined, plain, tag
from polyqa.evaluation.columns import COLUMNS
from polyqa.evaluation.comparison import compare_runs
from polyqa.evaluation.runs import Run
from polyqa.evaluation.tables import p_text
from polyqa.evaluation.verdicts import verdict
from polyqa.metrics.optimizing import Measure
from polyqa.optimizers.compiler import Compiled

from .drawing import interval_bars
from .prompts import prompts
from .questions import questions
from .style import STYLE
from .tried import tried

BEGINNING = (
    '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'\">"
)
"""How every page begins: with what keeps a browser from running a script in it, or asking the network for anything."""
_HEAD = ("questions", "n", "uncompiled", "compiled", "difference", "p")


def compilation_report(
    card: Card, student: dspy.Module, compiled: Compiled, test_runs: tuple[Run, Run] | None = None
) -> str:
    """Return the page, which needs nothing but itself.

    Parameters
    ----------
    card
        Of the artifact.
    student
        The program as it was.
    compiled
        What became of it.
    test_runs
        Of both on test, if there was one.
    """
    gains = {"dev": card.dev_gain, "test": card.test_gain}
    runs = {"dev": (compiled.before, compiled.after), "test": test_runs}
    parts = [
        tag("p", "What compiling did", class_="quiet"),
        tag("h1", card.name),
        tag("p", _subtitle(card), class_="quiet"),
        *(_verdict(name, runs[name], gain) for name, gain in gains.items() if gain is not None),
        tag("h2", "Before and after"),
        *_figures({name: gain for name, gain in gains.items() if gain is not None}),
        tag("h2", "What was tried"),
        tried(compiled.trials, COLUMNS[compiled_measure(card)].label),
        tag("h2", "What changed in the prompts"),
        prompts(student, compiled.program),
        tag("h2", "Question by question, on dev"),
        questions(compiled.before, compiled.after, compiled_measure(card), tested=test_runs is not None),
        tag("h2", "What it cost"),
        _cost(card),
    ]
    title = tag("title", f"{card.name}: what compiling did")
    viewport = Html('<meta name="viewport" content="width=device-width, initial-scale=1">')
    head = joined([viewport, title, tag("style", Html(STYLE))])
    return f"{BEGINNING}{head}</head>\n{tag('body', tag('main', *parts))}</html>\n"


def compiled_measure(card: Card) -> Measure:
    """Return what was optimized."""
    return card.measure  # type: ignore[return-value]


def _subtitle(card: Card) -> str:
    recipe = card.recipe.get("name")
    written = f", instructions by {card.prompt_lm}" if card.prompt_lm else ""
    return f"Program {card.program}, recipe {recipe}, language model {card.lm}{written}; {card.date}."


def _verdict(name: str, runs: tuple[Run, Run] | None, gain: Gain) -> Html:
    """Return the sentence; a difference that says nothing is not told."""
    if runs is None or not gain.tells:
        return tag("p", tag("b", f"On {name}: "), gain.failures, ".", class_="verdict")
    found = compare_runs(*runs, headline=gain.metric).metrics[gain.metric]
    told = verdict(found, what="Compiling", metric=COLUMNS[gain.metric].label)
    return tag("p", tag("b", f"On {name}: "), told, class_="verdict")


def _figures(gains: dict[str, Gain]) -> list[Html]:
    bars = [
        (f"{name}, {side}", figure.value, figure.low, figure.high)
        for name, gain in gains.items()
        for side, figure in (("uncompiled", gain.before), ("compiled", gain.after))
    ]
    rows = [
        (
            f"{name}: {gain.data.source}",
            gain.before.n,
            figure_text(gain.before),
            figure_text(gain.after),
            change_text(gain.difference, gain.low, gain.high) if gain.tells else gain.failures,
            p_text(gain.p) if gain.tells else "",
        )
        for name, gain in gains.items()
    ]
    label = COLUMNS[next(iter(gains.values())).metric].label
    told = f"{label} with 95% intervals. The difference has a paired bootstrap interval, p is of a permutation test. "
    chosen = "Where a recipe picks among candidates by their score on dev, only test tells what it is worth."
    return [
        interval_bars(bars),
        tag("div", html_table(_HEAD, rows, numbers=(1,)), class_="wide"),
        tag("p", told + chosen, class_="quiet"),
    ]


def _cost(card: Card) -> Html:
    spent = card.spent
    facts = {
        "calls of language models": f"{spent.calls:,}",
        "tokens in": f"{spent.input_tokens:,}",
        "tokens out": f"{spent.output_tokens:,}",
        "seconds": f"{spent.seconds:,.0f}",
        "train": f"{card.train.n} questions, {plain(card.train.source)}",
        "dev": f"{card.dev.n} questions, {plain(card.dev.source)}" if card.dev else "none",
    }
    note = "Compiling and the two runs on dev; replies from a cache and the runs on test are not counted."
    return joined([html_facts(facts), tag("p", note, class_="quiet")])
