"""`polyqa programs` and `polyqa show`: the programs, the recipes that compile them, and what is inside."""

from collections.abc import Mapping
from math import nan
from typing import TYPE_CHECKING, Annotated

import typer

from polyqa.base.text import counted

from . import options
from .display import console, escaped, facts, show_json, table
from .terminal import say

if TYPE_CHECKING:
    from polyqa.artifacts.store import Artifact

_DEMOS = 1  # of each call, unless all are asked for
_NAME = "Name of a program, or name or folder of a compiled one."


def show_command(
    artifact: Annotated[str, typer.Argument(help=_NAME)],
    other: Annotated[
        str | None, typer.Argument(help="A second program: show how its prompts differ from the first one's.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Show all demos, not only the first of each call.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print card and state, or what differs, as JSON.")] = False,
) -> None:
    """Show what a program is, what compiling gained, and its prompts; or how two programs differ."""
    from polyqa.artifacts.state import dump_program
    from polyqa.artifacts.store import read_artifact
    from polyqa.loading import outline
    from polyqa.optimizers.prompts import demos_shown, prompt_changes, prompt_diff, prompt_texts
    from polyqa.programs import PROGRAMS

    compiled = None if artifact in PROGRAMS else read_artifact(artifact)
    program = outline(artifact)
    if other is not None:
        second = outline(other)
        changes, diff = prompt_changes(program, second), prompt_diff(program, second, most=None if everything else 0)
        if as_json:
            show_json({"programs": [artifact, other], "changes": changes, "diff": diff})
            return
        say(f"{artifact} → {other}\n")
        _list(changes)
        say("\n" + diff)
        return
    if as_json:
        show_json({"card": compiled and compiled.card.model_dump(mode="json"), "program": dump_program(program)})
        return
    _head(artifact, compiled)
    say()
    _list({name: f"demos: {demos_shown(predictor)}" for name, predictor in program.named_predictors()})
    for name, text in prompt_texts(program, most=None if everything else _DEMOS).items():
        say(f"\n## {name}\n\n{text.rstrip()}")


def _list(lines: Mapping[str, str]) -> None:
    rows = [(f"[bold]{escaped(name)}[/]", escaped(text)) for name, text in lines.items()]
    listing = table("call", "", rows=rows)
    listing.show_header = False
    console().print(listing)


def _say(text: str) -> None:
    """Print a text in lines of the terminal's width."""
    console().print(text, markup=False)


def _head(name: str, artifact: "Artifact | None") -> None:
    """Say what a program is, and of a compiled one what that brought and how it was made."""
    from polyqa.artifacts.showing import artifact_facts, gain_texts
    from polyqa.evaluation.columns import COLUMNS
    from polyqa.evaluation.verdicts import claim
    from polyqa.programs.registry import registered

    entry = registered(name if artifact is None else artifact.card.program)
    if artifact is None:
        _say(f"{name}: {entry.summary}.\n{entry.paper}; calls of a language model a question: {entry.calls}")
        return
    card = artifact.card
    _say(f"{card.name}: {card.program} (it {entry.summary}), compiled with {card.recipe.get('name')}.")
    gain = card.test_gain or card.dev_gain
    if gain is not None and gain.tells:
        before, after, change, _ = gain_texts(gain)
        low, high = (nan if bound is None else bound for bound in (gain.low, gain.high))
        verdict = claim(low, high, gain.before.n, gain.p, what="Compiling")
        label = COLUMNS[gain.metric].label if gain.metric in COLUMNS else gain.metric
        questions = counted(gain.before.n, "question")
        _say(f"{verdict}. {gain.data.source}, {questions}: {label} {before} → {after}, {change}.")
    elif gain is not None:
        _say(f"Whether compiling helped cannot be told: {gain.failures}.")
    say()
    console().print(facts(artifact_facts(card)))


def programs_command(
    recipes: Annotated[bool, typer.Option("--recipes", help="List the recipes of `polyqa compile` instead.")] = False,
    as_json: options.Json = False,
) -> None:
    """List the programs: what each does, who published it, what a question costs."""
    if recipes:
        _list_recipes(as_json)
        return
    from polyqa.programs.registry import REGISTRY

    if as_json:
        data = {}
        for name, entry in REGISTRY.items():
            listed_fields = {field: getattr(entry, field) for field in ("summary", "paper", "url", "calls")}
            data[name] = {"class": entry.program.__name__, **listed_fields, "needs": sorted(entry.needs)}
        show_json(data)
        return
    out = console()
    rows = [
        (f"[bold]{name}[/]", f"{entry.summary}\n{entry.calls}\n[dim]{entry.paper}[/]")
        for name, entry in REGISTRY.items()
    ]
    listed = table("program", "what it does; LM calls a question; paper", rows=rows)
    listed.padding = (0, 2, 1, 0)
    out.print(listed)
    out.print("[dim]K: passages shown. polyqa ask … --program NAME[/]")


def _list_recipes(as_json: bool) -> None:
    from polyqa.optimizers.recipes import RECIPES

    if as_json:
        show_json(
            {name: {**recipe.model_dump(mode="json"), "writes": recipe.writes} for name, recipe in RECIPES.items()}
        )
        return
    rows = [(name, "yes" if recipe.writes else "no", recipe.summary) for name, recipe in RECIPES.items()]
    out = console()
    out.print(table("recipe", "writes", "what it does", rows=rows))
    out.print("[dim]writes: a language model writes the instructions (--prompt-lm). polyqa compile --recipe NAME[/]")
