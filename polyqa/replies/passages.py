"""The number of a passage, as replies cite it."""

import re
from typing import Any

from .nothing import is_null
from .text import strip_dress

_CITED = r"(?:passages?|sources?|documents?|docs?|citations?|pid)"
_MORE = r"(?:[\s,;&\]\[()#]|and|\d{1,4})*"
_ONE = re.compile(rf"{_CITED}?\W*?(?P<number>\d{{1,4}})\b(?:\.0)?{_MORE}\.?", re.I)
_NAMED = re.compile(rf"{_CITED}\W*?(?P<number>\d{{1,4}})\b", re.I)
_TRAILING = re.compile(
    rf"\s*(?:[\[(]\s*{_CITED}?\s*[#:]?\s*(?P<number>\d{{1,3}})(?:\s*(?:,|;|&|and)\s*\d{{1,3}})*\s*[\])]"
    rf"(?:\s*,?\s*\[\s*{_CITED}?\s*\d{{1,3}}(?:\s*,\s*\d{{1,3}})*\s*\])*)\.?\Z",
    re.I,
)
_WITHIN = re.compile(rf"(?<=\S)\s*\[{_CITED}?\s*(?P<number>\d{{1,3}})\](?=[\s,;.])", re.I)
_YEAR_LIKE = re.compile(r"\((?:\s*\d+(?:\s*(?:,|;|&|and)\s*\d+)*\s*)\)\.?\Z")


def passage_number(value: Any) -> str | None:
    """Return the number of the first passage that is cited; another text is a passage's id and stays as it is.

    >>> passage_number("**Passage [3]**"), passage_number("1, 3"), passage_number(4), passage_number("p12")
    ('3', '1', '4', 'p12')
    """
    if isinstance(value, (list, tuple)):
        value = value[0] if value else None
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = strip_dress(str(value)).strip("*_ ").strip("[]").strip()
    if is_null(text):
        return None
    if match := _ONE.fullmatch(text) or _NAMED.match(text):
        return match["number"]
    return text


def split_citation(text: str) -> tuple[str, str | None]:
    """Return an answer without the citations at its end and within it, and the number that is cited first.

    >>> split_citation("Nagano [3][4]"), split_citation("Mercury (1998)"), split_citation("Nagano (passage 2)")
    (('Nagano', '3'), ('Mercury (1998)', None), ('Nagano', '2'))
    >>> split_citation("17 km [1] (11 miles)")
    ('17 km (11 miles)', '1')
    """
    text, number = _split_end(text)
    within = _WITHIN.search(text)
    return (_WITHIN.sub("", text), within["number"]) if within else (text, number)


def _split_end(text: str) -> tuple[str, str | None]:
    match = _TRAILING.search(text)
    if not match or _YEAR_LIKE.search(match[0]):
        return text, None
    rest = text[: match.start()].strip()
    return (rest, match["number"]) if rest else (text, None)
