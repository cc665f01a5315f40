"""Program settings from the command line: ``-k 5`` and ``--set depth=2``."""

import json
from collections.abc import Sequence
from typing import Any


def program_settings(program: str, passages: int | None, pairs: Sequence[str]) -> dict[str, Any]:
    """Return what a program's constructor is given.

    Parameters
    ----------
    program
        Its name. ``passages`` is left out for programs that do not retrieve, so that one command line can
        run all programs.
    passages
        Of ``-k``.
    pairs
        ``NAME=VALUE``; a value that is JSON (``2``, ``false``, ``null``) is taken as such, else as text.

    Raises
    ------
    PolyqaError
        If a pair has no name or no value.
    """
    from programs.registry import REGISTRY
    from signatures import PolyqaError

    settings: dict[str, Any] = {}
    entry = REGISTRY.get(program)
    if passages is not None and (entry is None or "index" in entry.needs):
        settings["passages"] = passages
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip().isidentifier():
            raise PolyqaError(f"--set {pair}: write NAME=VALUE, such as --set depth=2.")
        try:
            settings[name.strip()] = json.loads(value)
        except ValueError:
            settings[name.strip()] = value.strip()
    return settings
