"""The candidates of a compilation: a plot, and a tree of what was made from what."""

from collections.abc import Iterator, Sequence

from polyqa.base.html import Html, joined, tag
from polyqa.base.text import counted
from polyqa.optimizers.trials import Trial

from .drawing import legend, score_against_calls

_SHOWN = 8
"""Candidates of one parent that led nowhere are folded if there are more."""


def tried(trials: Sequence[Trial], metric: str) -> Html:
    """Return the plot and the tree.

    Parameters
    ----------
    trials
        In order; parents come before what was made from them.
    metric
        What the scores are, for people.
    """
    scored = [one for one in trials if one.score is not None]
    between = len(trials) - 2
    told = f"The recipe told of {counted(between, 'candidate')} between the first program and the compiled one. "
    if between < 1:
        told = "This recipe tries no candidates: it makes one program, which is scored at the end. "
    told += f"Scores are means of {metric} per question, in per cent; a corpus value may be another figure."
    parts = [tag("p", told, class_="quiet")]
    if scored:
        parts += [score_against_calls(scored), legend(scored)]
    return joined([*parts, _tree(trials)])


def _tree(trials: Sequence[Trial]) -> Html:
    """Return the tree, built from its leaves, so that no depth is too deep."""
    below: dict[int | None, list[tuple[Trial, Html]]] = {}
    for one in sorted(trials, key=lambda trial: trial.number, reverse=True):
        below.setdefault(one.parent, []).append((one, tag("li", *_item(one), _children(below.pop(one.number, [])))))
    roots = [item for own in below.values() for _, item in reversed(own)]
    return tag("ul", *roots, class_="tree")


def _children(own: list[tuple[Trial, Html]]) -> Html:
    if not own:
        return Html("")
    own = own[::-1]
    dropped = [item for one, item in own if not one.kept]
    if len(dropped) <= _SHOWN:
        return tag("ul", *(item for _, item in own))
    folded = tag("details", tag("summary", f"{len(dropped)} that were not kept"), tag("ul", *dropped))
    return tag("ul", tag("li", folded), *(item for one, item in own if one.kept))


def _item(one: Trial) -> Iterator[Html]:
    score = "not scored" if one.score is None else f"{100 * one.score:.1f} on {one.n} of {one.on}"
    told = f"{score}, after {one.calls:,} calls" if one.calls else score
    if one.demos:
        demos = ", ".join(f"{name} {count}" for name, count in one.demos.items())
        told += f"; demos: {demos}"
    yield tag(
        "span",
        tag("span", f"{'●' if one.kept else '○'} {one.number} {one.label}", class_="name"),
        " ",
        tag("span", told, class_="score quiet"),
        *([tag("span", f"; {one.note}", class_="quiet")] if one.note else []),
        class_="kept" if one.kept else "dropped",
    )
    own = {one.predictor: one.instructions[one.predictor]} if one.predictor in one.instructions else one.instructions
    if own and one.parent is not None and one.label != "compiled":
        texts = [tag("div", tag("b", name), tag("div", text)) for name, text in own.items()]
        yield tag("details", tag("summary", "instructions"), tag("div", *texts, class_="demo"))
