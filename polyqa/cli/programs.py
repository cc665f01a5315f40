"""`polyqa programs`: what there is to ask."""

from . import options


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
    listed = table(
        *("program", "what it does", "paper", "LM calls a question", "cost"),
        rows=[
            (f"[bold]{name}[/]", entry.summary, entry.paper, entry.calls, entry.cost)
            for name, entry in REGISTRY.items()
        ],
    )
    listed.padding = (0, 2, 1, 0)
    console().print(listed)
    console().print("[dim]I readings in play, K passages shown. polyqa ask … --program NAME[/]")
