"""polyqa.toml in the user's configuration folder: defaults of options."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import typer

from polyqa.base.errors import PolyqaError

FILE = "polyqa.toml"
KEYS: Mapping[str, type] = {
    "program": str,
    "index": str,
    "passages": int,
    "threads": int,
    "lm": str,
    "helper_lm": str,
    "temperature": float,
    "max_tokens": int,
    "timeout": float,
    "retries": int,
    "requests_per_minute": float,
    "judge": str,
    "reader": str,
    "mlflow": str,
}
_OF_LM = ("lm", "helper_lm", "temperature", "max_tokens", "timeout", "retries", "requests_per_minute")


def defaults(args: Iterable[str]) -> dict[str, Any]:
    """Return the defaults of options by the names of their parameters.

    How a language model is asked belongs to the file's model: it is left out where ``args`` name another.

    Raises
    ------
    PolyqaError
        If the file cannot be read, or says what it may not.
    """
    file = home_file()
    settings = _read(file) if file.is_file() else {}
    if any(arg == "--lm" or arg.startswith("--lm=") for arg in args):
        return {name: value for name, value in settings.items() if name not in _OF_LM}
    return settings


def home_file() -> Path:
    """Return the place of the file, in the configuration folder of the system."""
    return Path(typer.get_app_dir("polyqa")) / FILE


def _read(file: Path) -> dict[str, Any]:
    import tomllib

    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise PolyqaError(f"{file} cannot be read: {error}.") from error
    settings = {}
    for written, value in data.items():
        name = written.replace("-", "_")
        if name not in KEYS:
            raise PolyqaError(f"{file} sets {written!r:.60}, which is none of {', '.join(KEYS)}.")
        kinds = (int, float) if KEYS[name] is float else KEYS[name]
        if isinstance(value, bool) or not isinstance(value, kinds):
            expected = "a text in quotes" if kinds is str else "a number"
            raise PolyqaError(f"{file}: {name} is {expected}, not {value!r:.60}.")
        settings[name] = value
    return settings
