"""Conditions on passages, such as ``product = 'Falcon' and date >= 2024-01-01``: expressions of SQLite's SQL.

A condition may come from a stranger. It is evaluated in memory, over a table that holds nothing but metadata, and
SQLite's authorizer refuses everything but reading that table and calling the functions named here: no subquery, no
file, no other table, nothing that depends on the time or on chance. How long a condition may take is limited, too.
"""

import re
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyqa.base.errors import PolyqaError
from polyqa.base.html import plain, shortened
from polyqa.base.text import well_formed
from polyqa.base.values import MetadataValue, Passage

Kind = Literal["text", "number", "boolean", "mixed"]
LONGEST = 10_000
"""Characters of a condition."""
_SECONDS = 10.0
_NAMED = 30  # columns in a message
_FUNCTIONS = (
    "abs", "coalesce", "glob", "ifnull", "instr", "length", "like", "lower", "ltrim", "max", "min", "nullif", "round",
    "rtrim", "substr", "substring", "trim", "upper",
)  # fmt: skip
_OWN_COLUMNS: Mapping[str, Kind] = {"pid": "text", "title": "text"}
_NUMERAL = re.compile(r"-?(0|[1-9]\d{0,14})(\.\d+)?")
_TOKEN = re.compile(
    r"""(?P<text>'(?:[^']|'')*')
    | (?P<column>"(?:[^"]|"")*")
    | \b(?:date|timestamp)\s+(?P<typed>'(?:[^']|'')*')
    | \b(?P<date>\d{4}-\d{2}-\d{2}(?:[T\ ]\d{2}:\d{2}(?::\d{2})?)?)\b
    | (?P<refused>--|/\*|;|\0)
    | (?P<bracket>[()])""",
    re.VERBOSE | re.IGNORECASE,
)


class Filter(NamedTuple):
    """A condition, and the columns of the index that it is about, each with the kind of its values."""

    condition: str
    columns: Mapping[str, Kind]

    def matching(self, passages: Sequence[Passage | None]) -> NDArray[np.bool_]:
        """Return which passages fulfil the condition, shape (len(passages),); removed ones do not.

        `PolyqaError` if it is no expression, names an unknown column, or asks for what is not allowed.
        """
        expression = self._expression()
        columns = self._named()
        keys = [name.lower() for name in columns]
        # A row's number, by a name that SQLite has for it and no column.
        position = next((name for name in ("rowid", "_rowid_", "oid") if name not in keys), "rowid")
        # How a column's values compare with a literal of another type.
        table = ", ".join(
            f"{_quoted(name)} {'TEXT' if kind == 'text' else 'NUMERIC'}" for name, kind in columns.items()
        )
        with closing(sqlite3.connect(":memory:")) as database:
            try:
                database.execute(f"CREATE TABLE passages ({table})")
                database.executemany(
                    f"INSERT INTO passages ({position}, {', '.join(map(_quoted, columns))}) "
                    f"VALUES (?{', ?' * len(columns)})",
                    ((at, *_row(passage, keys)) for at, passage in enumerate(passages) if passage is not None),
                )
                end = time.monotonic() + _SECONDS
                database.set_progress_handler(lambda: time.monotonic() > end, 10_000)
                database.set_authorizer(_Authorizer())
                rows = database.execute(f"SELECT {position} FROM passages WHERE (\n{expression}\n)").fetchall()
            except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as error:
                raise self._error(str(error).rstrip(".")) from None
        matches = np.zeros(len(passages), dtype=np.bool_)
        matches[[at for (at,) in rows]] = True
        return matches

    def _expression(self) -> str:
        """Return the condition as SQLite reads it: dates are quoted; it must be one expression."""
        if not self.condition.strip():
            raise self._error("it is empty")
        if len(self.condition) > LONGEST:
            raise self._error(f"it has {len(self.condition):,} characters, at most {LONGEST:,} are taken")
        column_names = {name.lower() for name in (*_OWN_COLUMNS, *self.columns)}
        depth = 0

        def replace(token: re.Match[str]) -> str:
            nonlocal depth
            if token["refused"]:
                raise self._error(f"{token[0]!r} does not belong into a condition")
            if token["column"] and token[0][1:-1].replace('""', '"').lower() not in column_names:
                raise self._error(f"no such column: {token[0][1:-1]}")  # SQLite would take it for a text
            depth += {"(": 1, ")": -1}.get(token[0], 0)
            if depth < 0:
                raise self._error("a bracket is closed that was not opened")
            return f"'{token['date']}'" if token["date"] else token["typed"] or token[0]

        expression = _TOKEN.sub(replace, self.condition)
        if depth:
            raise self._error("a bracket is not closed")
        return well_formed(expression)

    def _named(self) -> dict[str, Kind]:
        """Return the columns whose names stand in the condition; of names that differ in case only, the first."""
        condition = self.condition.lower().replace('""', '"')
        columns: dict[str, Kind] = dict(_OWN_COLUMNS)
        for name, kind in self.columns.items():
            key = name.lower()
            if key in condition and "\0" not in name and key not in {other.lower() for other in columns}:
                columns[name] = kind
        return columns

    def _error(self, reason: str) -> PolyqaError:
        if reason == "interrupted":
            reason = f"it takes longer than {_SECONDS:.0f} s"
        elif reason == "not authorized" or "is prohibited" in reason:
            reason = "it may hold no subquery, only columns, values, operators and functions"
        elif unknown := re.match("no such column: (.*)", reason, re.DOTALL):
            columns = [*_OWN_COLUMNS, *(name for name in self.columns if name not in _OWN_COLUMNS)]
            remainder = f" and {len(columns) - _NAMED:,} more" if len(columns) > _NAMED else ""
            reason = (
                f"there is no column {unknown[1]!r:.80}; there are {', '.join(columns[:_NAMED])}{remainder}. "
                "A text stands in 'single quotes'"
            )
        elif re.fullmatch(r'near "\w+": syntax error', reason):
            reason += '. A column whose name has spaces, or is a word of SQL, stands in "double quotes"'
        elif "function" in reason or "aggregate" in reason:
            reason = f"{reason}; allowed are {', '.join(_FUNCTIONS)}"
        return PolyqaError(f"The condition {shortened(self.condition, 80)!r} cannot be used: {plain(reason)}.")


class _Authorizer:
    """Allows one SELECT from the only table, and some functions."""

    def __init__(self) -> None:
        self._selects = 0

    def __call__(self, action: int, table: str | None, name: str | None, *_: str | None) -> int:
        self._selects += action == sqlite3.SQLITE_SELECT
        allowed = (
            (action == sqlite3.SQLITE_READ and table == "passages")
            or (action == sqlite3.SQLITE_SELECT and self._selects == 1)
            or (action == sqlite3.SQLITE_FUNCTION and str(name).lower() in _FUNCTIONS)
        )
        return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


class ColumnKinds:
    """Learns what columns the metadata of passages have, and of what kind their values are."""

    def __init__(self, passages: Iterable[Passage | None] = ()) -> None:
        self._kinds: dict[str, set[str]] = {}
        for passage in passages:
            if passage is not None:
                self.add(passage)

    def add(self, passage: Passage) -> None:
        """Take in one more passage."""
        for name, value in passage.metadata.items():
            self._kinds.setdefault(name, set()).add(_kind_of(value))

    @property
    def columns(self) -> dict[str, Kind]:
        """The kind of each column, by name; a column of texts that are numbers throughout (of a CSV) is of numbers."""
        return {name: _column_kind(kinds) for name, kinds in sorted(self._kinds.items())}


def _kind_of(value: MetadataValue) -> str:
    if isinstance(value, str):
        return "numeral" if _NUMERAL.fullmatch(value) else "text"
    return "boolean" if isinstance(value, bool) else "number"


def _column_kind(kinds: set[str]) -> Kind:
    if kinds <= {"number", "numeral"}:
        return "number"
    if kinds <= {"text", "numeral"}:
        return "text"
    return "boolean" if kinds == {"boolean"} else "mixed"


def _quoted(name: str) -> str:
    return '"' + well_formed(name).replace('"', '""') + '"'


def _row(passage: Passage, keys: Sequence[str]) -> list[MetadataValue | None]:
    values: dict[str, MetadataValue] = {"pid": passage.pid, "title": passage.title}
    for name, value in passage.metadata.items():
        values.setdefault(name.lower(), value)
    return [_storable(values.get(key)) for key in keys]


def _storable(value: MetadataValue | None) -> MetadataValue | None:
    if isinstance(value, str):
        return well_formed(value)
    return float(value) if type(value) is int and abs(value) >= 1 << 63 else value
