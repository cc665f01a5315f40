"""`polyqa programs`: what there is to ask."""

from typing import TYPE_CHECKING

from . import options

if TYPE_CHECKING:
    from polyqa.programs.registry import Entry

_WIDE = 120  # characters, from which on five columns are readable beside each other


def programs_command(as_json: options.Json = False) -> None:
    """List the programs: what each does, who published it, what a question costs."""
    from polyqa.programs.registry import REGISTRY

    from .display import console, show_json, table

    if as_json:
        rows = {
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
        show_json(rows)
        return
    out = console()
    if out.width < _WIDE:
        told = [(f"[bold]{name}[/]", _in_lines(entry)) for name, entry in REGISTRY.items()]
        listed = table("program", "what it does; LM calls a question, cost; paper", rows=told)
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
    out.print("[dim]I readings in play, K passages shown. polyqa ask … --program NAME[/]")


def _in_lines(entry: "Entry") -> str:
    return f"{entry.summary}\n{entry.calls}, {entry.cost}\n[dim]{entry.paper}[/]"
