"""Reads the sheets of XLSX as people see them: numbers in their formats, without hidden sheets."""

import re
from datetime import datetime
from math import inf, nextafter
from pathlib import Path
from typing import Any

_UNSEEN = re.compile(r"_.|\*.|\[(?!\$)[^\]]*\]")
"""The width of a sign, what fills a cell, a colour or a condition."""
_SIGNS = re.compile(r"\[\$([^\]-]*)[^\]]*\]|\"([^\"]*)\"|\\(.)")
"""A currency with its country, a text, a sign."""
_NUMBER = re.compile(
    r"(?P<before>[^#0?E/]*)(?P<whole>[#0?](?:[#0?,]*[#0?])?)(?:\.(?P<places>[#0?]+))?(?P<behind>[^#0?E/,.]*)"
)
"""A format of one number; not one that shows thousands as 1, with a comma at its end."""


def read_workbook(path: Path) -> tuple[dict[str, list[list[str]]], dict[str, Any]]:
    """Return the rows of each sheet that is not hidden, by its name, and what the file says of itself."""
    from openpyxl import load_workbook

    book = load_workbook(path, data_only=True)
    sheets = {sheet.title: _rows(sheet) for sheet in book.worksheets if sheet.sheet_state == "visible"}
    about = book.properties
    if about.creator == "openpyxl":  # which says so, and that it is of today, of a file that says nothing
        return sheets, {"title": about.title}
    fields = {"title": about.title, "author": about.creator, "keywords": about.keywords, "created_at": about.created}
    return sheets, fields


def _rows(sheet: Any) -> list[list[str]]:
    """Return the rows that hold something; a cell over several of them or several columns stands in each.

    What stands alone in its row, such as a title, stands there once.
    """
    rows = [[_shown(cell) for cell in cells] for cells in sheet.iter_rows()]
    filled = [sum(map(bool, row)) for row in rows]
    for merged in sheet.merged_cells.ranges:
        top, column = merged.min_row - 1, merged.min_col - 1
        end = merged.max_col if filled[top] > 1 else merged.min_col
        for at in range(top, merged.max_row):
            if filled[at]:
                rows[at][column:end] = [rows[top][column]] * (end - column)
    return [row for row in rows if any(row)]


def _shown(cell: Any) -> str:
    r"""Return a cell as its format shows it; a number as it is, if its format is one that is not known here.

    >>> from openpyxl import Workbook
    >>> sheet = Workbook().active
    >>> formats = ("General", "0.0%", r"#,##0.00\ [$€-407]", '"$"#,##0;[Red]-"$"#,##0', "000", "0.00E+00")
    >>> for row, sheet.cell(row, 1, 7.5).number_format in enumerate(formats, 1):
    ...     pass
    >>> [_shown(cell) for (cell,) in sheet.iter_rows()]
    ['7.5', '750.0%', '7.50 €', '$8', '008', '7.5']
    """
    value = cell.value
    if isinstance(value, datetime):
        return value.isoformat(" ", "minutes").removesuffix(" 00:00")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "" if value is None or cell.data_type == "e" else str(value).strip()
    pattern = _UNSEEN.sub("", cell.number_format.split(";")[0])
    signs = [sign[1] or sign[2] or sign[3] or "" for sign in _SIGNS.finditer(pattern)]
    number = _NUMBER.fullmatch(_SIGNS.sub("\0", pattern))
    if number is None:
        return f"{value:.15g}"
    before, integer_part, places, behind = number.group("before", "whole", "places", "behind")
    if "%" in before + behind:
        value *= 100
    # Half is rounded up, as in programs for sheets, which show 12.5 as 13.
    amount = nextafter(abs(value), inf) if value % 1 else abs(value)
    figures = f"{amount:{',' if ',' in integer_part else ''}.{len(places or '')}f}"
    if "," not in integer_part:
        figures = figures.zfill(integer_part.count("0") + (len(places) + 1 if places else 0))
    text = f"{'-' * (value < 0)}{before}{figures}{behind}"
    return re.sub("\0", lambda _: signs.pop(0), text).strip()
