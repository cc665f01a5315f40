"""What is printed: texts of anybody's without the characters by which they would steer a terminal."""

import typer

from polyqa.base.text import STEERING, SURROGATE, printable

__all__ = ["printable", "say", "say_json"]


def say_json(text: str) -> None:
    """Print JSON: what would steer the terminal stands in it as an escape, so that nothing is lost."""
    for pattern in (STEERING, SURROGATE):
        text = pattern.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    typer.echo(text)


def say(text: str = "", *, err: bool = False) -> None:
    """Print a text."""
    typer.echo(printable(text), err=err)
