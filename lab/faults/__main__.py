"""The commands of the attack: ``python -m lab.faults COMMAND``."""

import typer

from . import damage, documents, injections, kills, lm

app = typer.Typer(help="Attack polyqa, and see what holds.", no_args_is_help=True, pretty_exceptions_enable=False)
for module in (damage, documents, kills, lm, injections):
    app.command(module.__name__.rpartition(".")[2])(module.command)

if __name__ == "__main__":
    app()
