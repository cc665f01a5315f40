"""The card of an artifact for people."""

import json
from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import Any

from polyqa.artifacts.card import Card, Gain
from polyqa.artifacts.showing import change_text, figure_text
from polyqa.artifacts.store import compiled_home
from polyqa.evaluation.tables import p_text
from polyqa.programs import PROGRAMS

from .prompts import demo_text, fenced
from .recipes import Recipe

DEMOS = 3
"""How many demos of a predictor are printed at most."""

_LABELS = {"dr": "DR", "disambig_f1": "Disambig-F1", "f1_answer": "F1 of answers"}


def artifact_readme(card: Card, state: Mapping[str, Any], folder: str | Path) -> str:
    """Return the README.md of an artifact.

    Parameters
    ----------
    card
        What it is.
    state
        The state of its program, as `polyqa.artifacts.state.dump_program` returns it.
    folder
        Of the artifact, as it was given: it is loaded by that, unless it lies where names are looked up.
    """
    handle = _handle(Path(folder))
    recipe = _recipe(card)
    index = (
        f"`{card.index.name}` ({card.index.passages:,} passages, `{card.index.fingerprint}`)" if card.index else "none"
    )
    given = card.settings | ({"reranker": card.reranker} if card.reranker else {})
    settings = ", ".join(f"{name}={value}" for name, value in given.items()) or "defaults"
    rows = [
        ("program", f"{card.program} ({settings})"),
        ("recipe", f"{card.recipe.get('name')}: {card.recipe.get('summary') or card.recipe.get('optimizer')}"),
        (
            "metric",
            f"{_LABELS.get(card.measure, card.measure)}, reader {card.reader}"
            + (f", demos from {card.threshold:g} on" if recipe.gathers else ""),
        ),
        (
            "language model",
            card.lm
            + (f"; helper {card.helper_lm}" if card.helper_lm else "")
            + (f"; instructions by {card.prompt_lm}" if card.prompt_lm else ""),
        ),
        ("train", f"{card.train.source}, {card.train.n} questions, `{card.train.fingerprint}`"),
        ("dev", f"{card.dev.source}, {card.dev.n} questions, `{card.dev.fingerprint}`" if card.dev else "none"),
        ("index", index),
        ("encoder of demos", card.encoder),
        (
            "spent",
            f"{card.spent.calls:,} calls, {card.spent.input_tokens:,} + {card.spent.output_tokens:,} tokens, "
            f"{card.spent.seconds:,.0f} s",
        ),
        ("made", f"{card.date}, polyqa {card.versions.get('polyqa', '?')}, DSPy {card.versions.get('dspy', '?')}"),
    ]
    table = "\n".join(f"| {name} | {value} |" for name, value in rows)
    gains = "\n".join(
        _gain(title, gain) for title, gain in (("dev", card.dev_gain), ("test", card.test_gain)) if gain is not None
    )
    return (
        f"# {card.name}\n\n| | |\n|---|---|\n{table}\n\n"
        + (
            f"| questions | metric | uncompiled | compiled | difference | p |\n|---|---|---|---|---|---|\n{gains}\n\n"
            "Differences: 95% paired bootstrap interval, two-sided permutation test.\n\n"
            if gains
            else ""
        )
        + f"```python\nimport polyqa\n\nprogram = polyqa.load({json.dumps(handle, ensure_ascii=False)})\n```\n\n"
        f'`polyqa show {quote(handle)}` prints its prompts, `polyqa ask "…" --program {quote(handle)} '
        f"--show-prompts` which demos a question gets, `polyqa show {card.program} {quote(handle)}` all that compiling "
        "changed.\n\n## Prompts\n\n"
        + "\n\n".join(_predictor(name, own, instructions=recipe.writes) for name, own in state.items())
        + "\n"
    )


def _predictor(name: str, state: Mapping[str, Any], *, instructions: bool) -> str:
    """Return how a predictor is prompted; its instructions where a language model wrote them."""
    demos, knn = state["demos"], state.get("knn")
    parts = [f"### {name}"]
    if instructions:
        parts.append(fenced(state["signature"]["instructions"]))
    if not demos:
        return "\n\n".join([*parts, "No demos."])
    told = f"{len(demos)} demos" + (f", each call shows the {knn['k']} nearest" if knn else "")
    told += f"; the first {DEMOS}" if len(demos) > DEMOS else ""
    shown = "\n\n".join(demo_text(demo, demo) for demo in demos[:DEMOS])
    return "\n\n".join([*parts, f"{told}:", fenced(shown)])


def _recipe(card: Card) -> Recipe:
    return Recipe.of_card(card.recipe)


def _handle(folder: Path) -> str:
    """Return what a program is loaded by: a name only where names are found and no program has it."""
    place = folder.resolve()
    if place.parent == compiled_home().resolve() and place.name not in PROGRAMS:
        return place.name
    return f"./{folder}" if str(folder) in PROGRAMS else str(folder)


def _gain(title: str, gain: Gain) -> str:
    cells = [
        f"{title}: {gain.data.source}, n = {gain.before.n}",
        _LABELS.get(gain.metric, gain.metric),
        figure_text(gain.before),
        figure_text(gain.after),
        change_text(gain.difference, gain.low, gain.high) if gain.tells else gain.failures,
        p_text(gain.p) if gain.tells else "",
    ]
    return f"| {' | '.join(cells)} |"
