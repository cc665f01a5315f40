"""`polyqa programs`: what there is to ask."""

from typing import Annotated

import typer


def programs_command(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """List the programs: what each does, who published it, what a question costs."""
    import json

    from polyqa.programs.registry import REGISTRY

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
        typer.echo(json.dumps(rows, ensure_ascii=False, indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 1, 0))
    for heading in ("program", "what it does", "paper", "LM calls a question", "cost"):
        table.add_column(heading)
    for name, entry in REGISTRY.items():
        table.add_row(f"[bold]{name}[/]", entry.summary, entry.paper, entry.calls, entry.cost)
    console = Console(highlight=False)
    console.print(table)
    console.print("[dim]I readings in play, K passages shown. polyqa ask … --program NAME[/]")
