"""Program settings from the command line: ``-k 5`` and ``--set depth=2``."""

import json
from collections.abc import Sequence
from typing import Any


def program_settings(program: str, passages: int | None, pairs: Sequence[str]) -> dict[str, Any]:
    """Return what a program's constructor is given.

    Parameters
    ----------
    program
        Its name. ``passages`` is left out for programs whose constructor has no such setting, so that one
        command line can run all programs.
    passages
        Of ``-k``.
    pairs
        ``NAME=VALUE``; a value that is JSON (``2``, ``false``, ``null``) is taken as such, else as text.

    Returns
    -------
    dict
        The values as they were given: a run is known by them, and loading turns them into their types.

    Raises
    ------
    PolyqaError
        If a pair has no name or no value, is no setting of the program, or is not of its type.
    """
    from polyqa.programs.registry import REGISTRY
    from polyqa.settings import checked_settings, setting_types
    from polyqa.signatures import PolyqaError

    given: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip().isidentifier():
            raise PolyqaError(f"--set {pair}: write NAME=VALUE, such as --set depth=2.")
        given[name.strip()] = _value(value.strip())
    registered = program in REGISTRY
    if given and not registered:
        raise PolyqaError(
            f"{program} takes no --set: the settings of a compiled program are fixed; others have "
            f"{', '.join(REGISTRY)}."
        )
    if registered:
        checked_settings(program, given)
    shown = passages is not None and (not registered or "passages" in setting_types(program))
    return {"passages": passages, **given} if shown else given


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
