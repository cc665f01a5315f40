"""The commands of the attack: ``python -m lab.faults COMMAND``."""

import typer

from . import damage, documents, injections, kills, lm, outages, updates

app = typer.Typer(help="Attack polyqa, and see what holds.", no_args_is_help=True, pretty_exceptions_enable=False)
app.command("damage")(damage.command)
app.command("documents")(documents.command)
app.command("kills")(kills.command)
app.command("lm")(lm.command)
app.command("outages")(outages.command)
app.command("updates")(updates.command)
app.command("injections")(injections.command)

if __name__ == "__main__":
    app()
