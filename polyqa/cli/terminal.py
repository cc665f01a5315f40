"""What is printed: texts of anybody's without the characters by which they would steer a terminal."""

import re

import typer

# C0 without tab and line feed, DEL, C1, and what turns the direction of writing.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# Half a character: a lone surrogate. `signatures.unicode` has it, too, but brings DSPy along.
_HALF = re.compile("[\ud800-\udfff]")


def printable(text: str) -> str:
    r"""Return a text without control characters: an escape sequence is shown as what is left of it.

    Half a character, which no terminal takes, is shown as U+FFFD.

    >>> printable("Titanic\x1b]52;c;cm0=\x07 (film)")
    'Titanic]52;c;cm0= (film)'
    """
    return _HALF.sub("\ufffd", _STEERING.sub("", text))


def say_json(text: str) -> None:
    """Print JSON: what would steer the terminal stands in it as an escape, so that nothing is lost."""
    for pattern in (_STEERING, _HALF):
        text = pattern.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    typer.echo(text)


def say(text: str = "", *, err: bool = False) -> None:
    """Print a text."""
    typer.echo(printable(text), err=err)
