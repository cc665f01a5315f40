"""polyqa.toml in the user's configuration folder: defaults of options."""

from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import typer

from polyqa.base.errors import PolyqaError

FILE = "polyqa.toml"


def defaults(args: Iterable[str], app: Any) -> dict[str, Any]:
    """Return the defaults of options by their names on the command line, without the dashes before them.

    How a language model is asked belongs to the file's model: it is left out where ``args`` name another. What the
    values have to be is what the options take.

    Raises
    ------
    PolyqaError
        If the file cannot be read, or names an option that no command of ``app`` has.
    """
    from .options import LanguageModels

    file = home_file()
    settings = {name.replace("_", "-"): value for name, value in (_read(file) if file.is_file() else {}).items()}
    if unknown := settings.keys() - {*_options(app)}:
        raise PolyqaError(f"{file} sets {min(unknown)!r:.60}, which is an option of no command.")
    if any(arg == "--lm" or arg.startswith("--lm=") for arg in args):
        of_lm = {field.name.replace("_", "-") for field in fields(LanguageModels)}
        return {name: value for name, value in settings.items() if name not in of_lm}
    return settings


def home_file() -> Path:
    """Return the place of the file, in the configuration folder of the system."""
    return Path(typer.get_app_dir("polyqa")) / FILE


def _read(file: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise PolyqaError(f"{file} cannot be read: {error}.") from error


def _options(command: Any) -> Iterator[str]:
    """Yield the names of the options of a command, or of a group's commands: a group's own have no default."""
    for part in getattr(command, "commands", {}).values():
        yield from _options(part)
    if not hasattr(command, "commands"):
        yield from (name[2:] for param in command.params for name in param.opts if name.startswith("--"))
