"""Readings in rows, the form of polyqa's own prompts: ``1. reading | answer [3]``; cells of a table count as well."""

import re

from polyqa.base.values import Interpretation

from .records import ANSWER_KEYS, QUESTION_KEYS, reading_of
from .tagged import headed_questions
from .text import is_item, is_rule, shown, strip_dress, without_bullet

_BAR = re.compile(r"\s+\|\s+")
_TIGHT_BAR = re.compile(r"(?<=[?\"”])\s*\|\s*")  # counts where no other bar stands
_NUMBER = re.compile(r"[\[(]?\s*(?:passages?\s*)?\d{1,3}\s*[\])]?", re.I)
_SEVERAL = re.compile(r"\|.*[\s;]\d{1,2}[.)]\s.*\|")  # rows on one line
_MARK = re.compile(r"(?:\d{1,2}\.\s+)+")


def _bars(text: str) -> list[re.Match[str]]:
    return list(_BAR.finditer(text)) or list(_TIGHT_BAR.finditer(text))


def has_rows(text: str) -> bool:
    """Return whether a line of a text has a bar that may part a reading from its answer."""
    return any(map(_bars, text.splitlines()))


def parse_rows(text: str) -> list[Interpretation]:
    r"""Read one reading a line: reading, bar, answer, and the passage's number in brackets.

    The number, and the bullet before the reading, may be absent; lines without bullet and bar are passed over. Of
    several bars the one after the question mark counts. "none" as the answer drops the reading.

    >>> parse_rows("1. When did the 1953 film come out? | 1953 [2]\n2. And the book? | none")
    [Interpretation(question='When did the 1953 film come out?', answer='1953', pid='2')]

    Raises
    ------
    ValueError
        If an item has no answer, or where a row is to be parted cannot be told.
    """
    rows = []
    for line in text.splitlines():
        row = line.strip(" |") if line.lstrip().startswith("|") else line
        if _bars(row) and not is_rule(row) and not row.rstrip().endswith(":"):
            keys = {_key(cell) for cell in _BAR.split(row)}
            if not (keys & {*QUESTION_KEYS} and keys & {*ANSWER_KEYS}):  # the header
                rows.append(_row(row))
        elif is_item(row) and not is_rule(row):
            raise ValueError(f"no interpretation found in: {shown(text)}: no answer in {row!r:.80}")
    if len(rows) > 1 and all(answer.startswith(f"{number}. ") for number, (_, answer, _) in enumerate(rows, 1)):
        rows = [(question, _MARK.sub("", answer, count=1), pid) for question, answer, pid in rows]
    found = [reading_of(question, answer, pid) for question, answer, pid in rows]
    return [reading for reading in found if reading is not None]


def _key(cell: str) -> str:
    return re.sub(r"\W+", "_", without_bullet(re.sub(r"\[.*\]", "", cell)).lower()).strip("_")


def _row(row: str) -> tuple[str, str, str | None]:
    """Return the question, the answer and the citation of a row."""
    row = without_bullet(re.sub(r"\A\s*\d{1,2}\s*\|", "", row))  # without the first column's number, too
    bars = _bars(row)
    asked = [bar for bar in bars if re.search(r"\?[\"”*_`')]*\Z", row[: bar.start()])]
    last = row[bars[-1].end() :] if len(bars) > 1 else ""
    pid = last if _NUMBER.fullmatch(strip_dress(last)) else None
    if (
        len(asked) > 1
        or not bars
        or _SEVERAL.search(row)
        or not (asked or len(bars) == 1 + bool(pid))
        or (not asked and row.endswith("?"))
    ):
        # "a | b | c", or a question in which there is a bar
        raise ValueError(f"no interpretation found in: {shown(row)}: which part is the answer?")
    bar = (asked or bars)[0]
    question, answer = row[: bar.start()], row[bar.end() : bars[-1].start() if pid else None]
    return (headed_questions(question) or [question])[0].replace("\\|", "|"), answer.replace("\\|", "|"), pid
