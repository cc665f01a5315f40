"""Ways to damage a folder: each changes one file, drawn with a seed."""

import json
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

_EVIL: tuple[Any, ...] = (
    -1,
    0,
    10**7,
    10**18,
    1e308,
    True,
    None,
    "",
    "../../../../etc/passwd",
    "\x1b]52;c;aGk=\x07[red]\udcff",
    "x" * 100_000,
    [],
    {},
    [[[[[]]]]],
)


def damaged_by(kind: str, folder: Path, draw: random.Random) -> Path | None:
    """Damage a drawn file of a folder; return it, or ``None`` if there is none that can be damaged so."""
    mutate, suffixes = MUTATIONS[kind]
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.stat().st_size]
    wanted = [path for path in files if not suffixes or path.suffix in suffixes]
    if not wanted:
        return None
    chosen = draw.choice(wanted)
    mutate(chosen, draw)
    return chosen


def _cut(path: Path, draw: random.Random) -> None:
    path.write_bytes(path.read_bytes()[: draw.randrange(path.stat().st_size)])


def _flip(path: Path, draw: random.Random) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(draw.choice([1, 4, 64])):
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    path.write_bytes(data)


def _remove(path: Path, draw: random.Random) -> None:
    path.unlink()


def _fill(path: Path, draw: random.Random) -> None:
    path.write_bytes(draw.choice([b"", b"\0" * path.stat().st_size, b"null", b"{}", b"PK\x03\x04", b"\x80\x04."]))


def _append(path: Path, draw: random.Random) -> None:
    with path.open("ab") as file:
        file.write(draw.choice([b"\0", b"\n{}\n", b"\xff" * 1000, b"null\n"]))


def _value(path: Path, draw: random.Random) -> None:
    """Put an unexpected value in the place of a drawn one, in the file or in a line of it."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.suffix == ".jsonl" else [path.read_text("utf-8")]
    at = draw.randrange(len(lines))
    data = json.loads(lines[at])
    places = list(_places(data))
    if places:
        holder, key = draw.choice(places)
        holder[key] = draw.choice(_EVIL)
    else:
        data = draw.choice(_EVIL)
    lines[at] = json.dumps(data)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _places(data: Any) -> Iterator[tuple[Any, Any]]:
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield data, key
        yield from _places(value)


Mutation = Callable[[Path, random.Random], None]
MUTATIONS: Mapping[str, tuple[Mutation, frozenset[str]]] = MappingProxyType(
    {
        "cut": (_cut, frozenset()),
        "bits flipped": (_flip, frozenset()),
        "removed": (_remove, frozenset()),
        "filled with something else": (_fill, frozenset()),
        "more behind its end": (_append, frozenset()),
        "an unexpected value": (_value, frozenset({".json", ".jsonl"})),
    }
)
"""By name: what it does to a file, and the endings of the files that it can be done to; none for all."""
