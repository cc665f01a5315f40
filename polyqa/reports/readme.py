"""The README of an artifact: its card, and how its predictors are prompted, for people."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from shlex import quote
from typing import Any

from markupsafe import Markup

from polyqa.artifacts.card import Card, Gain
from polyqa.artifacts.showing import artifact_facts, gain_texts
from polyqa.artifacts.store import compiled_home
from polyqa.base.html import plain, render
from polyqa.evaluation.columns import COLUMNS
from polyqa.extractive import MODEL_NAME
from polyqa.optimizers.prompts import demo_text, fenced
from polyqa.optimizers.recipes import Recipe
from polyqa.programs import PROGRAMS

DEMOS = 3
"""How many demos of a predictor are printed at most."""


def artifact_readme(card: Card, state: Mapping[str, Any], folder: str | Path) -> str:
    """Return the README.md of an artifact, whose state is that of `polyqa.artifacts.state.dump_program`.

    ``folder`` is the artifact's as it was given: it is loaded by that, unless it lies where names are looked up.
    """
    handle = handle_of(Path(folder))
    recipe = Recipe.model_validate({name: value for name, value in card.recipe.items() if name != "seed"})
    facts = artifact_facts(card)
    if recipe.gathers:
        facts["metric"] += f", a run becomes a demo from {card.threshold:g} on"
    return render(
        "readme.md",
        card=card,
        facts=facts,
        gains=[_gain(name, gain) for name, gain in card.gains.items()],
        handle=Markup(json.dumps(handle, ensure_ascii=False)),
        argument=Markup(quote(handle)),
        lm=Markup(lm_option(card)),
        predictors=list(_predictors(state, instructions=recipe.writes)),
    )


def lm_option(card: Card) -> str:
    """Return the option of a command that asks the language model of a card; nothing where it is asked anyway."""
    return "" if card.lm == MODEL_NAME else f" --lm {quote(plain(card.lm))}"


def _gain(title: str, gain: Gain) -> list[object]:
    *texts, p = gain_texts(gain)
    label = COLUMNS[gain.metric].label
    return [f"{title}: {gain.data.source}, n = {gain.before.n}", label, *map(Markup, texts), p]


def _predictors(state: Mapping[str, Any], *, instructions: bool) -> Iterator[tuple[str, Markup, str, Markup]]:
    """Yield name, instructions where a language model wrote them, what is said of the demos, and the first demos."""
    for name, predictor in state.items():
        demos, knn = predictor["demos"], predictor.get("knn")
        written = fenced(predictor["signature"]["instructions"]) if instructions else ""
        title = f"{len(demos)} demos" + (f", each call shows the {knn['k']} nearest" if knn else "")
        title += f"; the first {DEMOS}" if len(demos) > DEMOS else ""
        texts = "\n\n".join(demo_text(demo, demo) for demo in demos[:DEMOS])
        yield name, Markup(written), title if demos else "", Markup(fenced(texts))


def handle_of(folder: Path) -> str:
    """Return what a program is loaded by: a name only where names are found and no program has it."""
    place = folder.resolve()
    if place.parent == compiled_home().resolve() and place.name not in PROGRAMS:
        return place.name
    return f"./{folder}" if str(folder) in PROGRAMS else str(folder)
