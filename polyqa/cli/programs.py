"""`polyqa programs`: the programs and the recipes that compile them."""

from typing import TYPE_CHECKING, Annotated

import typer

from . import options

if TYPE_CHECKING:
    from polyqa.programs.registry import Entry

_WIDE = 120  # characters, from which on five columns are readable beside each other


def programs_command(
    recipes: Annotated[bool, typer.Option("--recipes", help="List the recipes of `polyqa compile` instead.")] = False,
    as_json: options.Json = False,
) -> None:
    """List the programs: what each does, who published it, what a question costs."""
    if recipes:
        _list_recipes(as_json)
        return
    from polyqa.programs.registry import REGISTRY

    from .display import console, show_json, table

    if as_json:
        data = {
            name: {
                "class": entry.program.__name__,
                "summary": entry.summary,
                "paper": entry.paper,
                "url": entry.url,
                "calls": entry.calls,
                "cost": entry.cost,
                "needs": sorted(entry.needs),
            }
            for name, entry in REGISTRY.items()
        }
        show_json(data)
        return
    out = console()
    if out.width < _WIDE:
        rows = [(f"[bold]{name}[/]", _in_lines(entry)) for name, entry in REGISTRY.items()]
        listed = table("program", "what it does; LM calls a question, cost; paper", rows=rows)
    else:
        listed = table(
            *("program", "what it does", "paper", "LM calls a question", "cost"),
            rows=[
                (f"[bold]{name}[/]", entry.summary, entry.paper, entry.calls, entry.cost)
                for name, entry in REGISTRY.items()
            ],
        )
    listed.padding = (0, 2, 1, 0)
    out.print(listed)
    out.print("[dim]K: passages shown. polyqa ask … --program NAME[/]")


def _in_lines(entry: "Entry") -> str:
    return f"{entry.summary}\n{entry.calls}, {entry.cost}\n[dim]{entry.paper}[/]"


def _list_recipes(as_json: bool) -> None:
    from polyqa.optimizers.recipes import RECIPES

    from .display import console, show_json, table

    if as_json:
        show_json(
            {name: {**recipe.model_dump(mode="json"), "writes": recipe.writes} for name, recipe in RECIPES.items()}
        )
        return
    rows = [(name, "yes" if recipe.writes else "no", recipe.summary) for name, recipe in RECIPES.items()]
    out = console()
    out.print(table("recipe", "writes", "what it does", rows=rows))
    out.print("[dim]writes: a language model writes the instructions (--prompt-lm). polyqa compile --recipe NAME[/]")
