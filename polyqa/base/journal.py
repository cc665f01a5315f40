"""Long work that survives a kill: results are lines of a file as they end, and what is in it is not made again.

The first line holds the settings that the work was begun with. For what a kill or a power cut leaves see `lines`.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from polyqa.base.errors import PolyqaError

from .lines import Lines, appending_lines, json_object, read_lines, with_checksum

_SETTINGS = "settings"
_BEGINNING = f'{{"{_SETTINGS}": '.encode()


def read_journal(
    path: Path, settings: Mapping[str, Any], *, older: Mapping[str, Any] = MappingProxyType({})
) -> list[dict[str, Any]]:
    """Return the lines of a journal, without the settings; none if there is no file.

    Lines that are damaged, and a last one that was not written to its end, are taken out of the file, with a
    `lines.DamageWarning`.

    Parameters
    ----------
    settings
        What it must have been begun with.
    older
        Settings that an older polyqa did not write down, with the values that it used.

    Raises
    ------
    PolyqaError
        If it was written under other settings, if its settings are damaged, or if it is no journal. Nothing is
        changed then.
    """
    lines = read_lines(path, json_object)
    if lines.whole or lines.faults:
        _check_settings(path, {**older, **_settings(lines)}, settings)
        lines.warn()
    elif not _BEGINNING.startswith(lines.torn.strip(b"\0")[: len(_BEGINNING)]):  # a power cut may leave zeros
        raise _no_journal(path)
    lines.repair()
    return [line.value for line in lines.whole[1:]]


def _settings(lines: Lines[dict[str, Any]]) -> dict[str, Any]:
    if not lines.whole or lines.whole[0].number != 1:
        raise _damaged(lines, str(lines.faults[0].error))
    first = lines.whole[0].value
    if not isinstance(first.get(_SETTINGS), dict):
        raise _no_journal(lines.path)
    if len(first) > 1:
        raise _damaged(lines, "more stands there than polyqa writes")
    return first[_SETTINGS]


def _damaged(lines: Lines[dict[str, Any]], why: str) -> PolyqaError:
    return PolyqaError(
        f"{lines.path} is damaged: its first line, which says what it was begun with, cannot be read ({why}). "
        "Remove it to start again."
    )


def _no_journal(path: Path) -> PolyqaError:
    return PolyqaError(f"{path} is no journal that polyqa began; choose another folder.")


def _check_settings(path: Path, earlier: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    changed = [
        f"{name} was {earlier.get(name)}, is {new}" for name, new in settings.items() if earlier.get(name) != new
    ]
    if changed:
        raise PolyqaError(
            f"{path} was begun with other settings ({'; '.join(changed)}); remove it, or choose another folder."
        )


@contextmanager
def appending(path: Path, settings: dict[str, Any]) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Give a function that adds a line to a journal; a new one begins with the settings.

    Raises
    ------
    PolyqaError
        If the file cannot be written.
    """
    with appending_lines(path) as file:

        def append(line: dict[str, Any]) -> None:
            file.append(_line(line))

        if file.size == 0:
            append({_SETTINGS: settings})
        yield append


def _line(value: dict[str, Any]) -> str:
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character, with which a reply may end: escaped, it is read as it was
        text = json.dumps(value)
    return with_checksum(text)
