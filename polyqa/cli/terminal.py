"""What is printed: texts of anybody's without the characters by which they would steer a terminal."""

import sys
from io import TextIOWrapper

import typer

from polyqa.base.text import STEERING, SURROGATE, printable


def has_every_character() -> bool:
    """Return whether standard output takes all of Unicode."""
    return sys.stdout.encoding.lower().startswith("utf")


def replace_lacking_characters() -> None:
    """Have question marks printed for what the encoding of a terminal lacks: by itself Python raises an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and not has_every_character():
            stream.reconfigure(errors="replace")


def say_json(text: str) -> None:
    """Print JSON: what would steer the terminal stands in it as an escape, so that nothing is lost."""
    for pattern in (STEERING, SURROGATE):
        text = pattern.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    typer.echo(text)


def say(text: str = "", *, err: bool = False) -> None:
    """Print a text."""
    typer.echo(printable(text), err=err)
