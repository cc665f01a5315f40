"""Lists of questions, in every usual form."""

import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from .nothing import is_bare_null, is_null, looks_like_refusal
from .records import lowered, question_in
from .rows import questions_in_rows
from .tagged import is_other_header, question_of
from .text import (
    decode,
    embedded,
    is_item,
    is_rule,
    shown,
    split_numbered,
    strip_dress,
    told,
    without_bullet,
    without_fence,
)

_ASK_WORD = re.compile(r"\b(?:who|whom|whose|what|when|where|which|why|how)\b", re.I)
_CONTINUES = re.compile(r"(?:and|or|but)\b", re.I)
_WORD = re.compile(r"\w+")
_ASKS = re.compile(
    r"(?:(?:in|at|on|by|for|from|to|of|with|under|during|after|before)\s+)?"
    r"(?:who|whom|whose|what|when|where|which|why|how|is|are|was|were|do|does|did|has|have|had|can|could|will|would|"
    r"should|name)\b",
    re.I,
)
_SPOKEN = re.compile(
    r"(?:here (?:are|is)|sure|certainly|of course|okay|below|the following|i hope|let me know|note|these|both|each)\b",
    re.I,
)


def parse_questions(value: Any) -> list[str]:
    """Accept a JSON list, a numbered or bulleted list, a table, lines, or one question.

    Repetitions (case and white space aside) are dropped, the order is kept; so are introductory lines.

    Raises
    ------
    ValueError
        If an item is a refusal or has fewer than two words, as in a reply that a repairing JSON parser cut to
        pieces, or if text without bullets asks nothing.
    """
    items = _of_text(told(value)) if isinstance(value, str) else value
    if isinstance(items, Mapping):
        inner = [item for item in items.values() if isinstance(item, (list, str))]
        one = question_in(lowered(items))
        if one is not None:
            items = [one]
        else:
            items = inner[0] if len(inner) == 1 and isinstance(inner[0], list) else list(items.values())
    if items is None:
        items = []
    if not isinstance(items, (list, tuple)):
        raise ValueError(f"not a list of questions: {shown(value)}")
    questions: dict[str, str] = {}
    for item in items:
        text = _question(item)
        if text is not None:
            questions.setdefault(" ".join(text.lower().split()), " ".join(text.split()))
    return list(questions.values())


def _question(item: Any) -> str | None:
    if isinstance(item, Mapping):
        item = question_in(lowered(item))
    if not isinstance(item, str):
        raise ValueError(f"not a question: {shown(item)}")
    if item.strip() and is_bare_null(item):
        return None
    headed = question_of(item)
    text = strip_dress(headed if headed is not None else without_bullet(item) or item)
    if len(_WORD.findall(text)) < 2 or looks_like_refusal(text) or is_null(text):
        raise ValueError(f"not a question: {shown(text)}")
    return text


def asks(text: str) -> bool:
    """Return whether a text has a question mark or begins as questions do."""
    return "?" in text or bool(_ASKS.match(strip_dress(text)))


def _of_text(text: str) -> Any:
    decoded = decode(text)
    if not isinstance(decoded, str):
        return decoded
    text = without_fence(text)
    if not text or is_bare_null(text):
        return []
    values, rest = embedded(text)
    lists = [value for value in values if isinstance(value, Mapping) or _holds_text(value)]
    if lists:
        if len(lists) > 1 and not all(isinstance(value, Mapping) for value in lists):
            raise ValueError(f"not a question: {shown(text)}: several lists")
        return lists[0] if len(lists) == 1 else lists
    if re.search(r"\{\s*[\"']|\[\s*[\"{]", rest):
        raise ValueError(f"not a question: {shown(text)}: JSON that is not complete")
    if rows := questions_in_rows(text):
        return rows
    return _lines(text)


def _holds_text(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and any(isinstance(item, (str, Mapping)) for item in value)


def _lines(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if line.strip() and not is_rule(line)]
    if _has_notes(lines):
        raise ValueError(f"not a question: {shown(text)}: what stands under a question is none")
    whole = _can_be_asked if "?" in text else _has_words
    lines = _joined([part for line in lines for part in _numbered_in(line.strip(), whole)])
    lines = [line for line in lines if not is_other_header(line)]
    marked = [line for line in lines if is_item(line) or question_of(line) is not None]
    if not marked and len(lines) == 1:
        lines = _asked_in(lines[0])
    if marked:
        items = [line for line in marked if not strip_dress(without_bullet(line)).endswith(":")]
    else:
        asked = [
            line
            for line in lines
            if _can_be_asked(line)
            or (_ASKS.match(strip_dress(line)) and _has_words(line) and not line.rstrip().endswith((".", "!", ":")))
            or ("?" in line and not line.rstrip().endswith(":") and not _SPOKEN.match(line.lstrip()))
        ]
        items = asked or [line for line in lines if _ASKS.match(strip_dress(line))]
    if not items:
        raise ValueError(f"not a question: {shown(text)}")
    return items


def _numbered_in(line: str, whole: Callable[[str], bool]) -> list[str]:
    """Return the items of a numbered list on one line, where a question may lack its question mark."""
    parts = split_numbered(line, whole)
    finer = split_numbered(line, _has_words)
    if len(finer) <= len(parts):
        return parts
    begin = [_can_be_asked(one) or _asks_at_once(following) for one, following in pairwise(finer)]
    if not any(begin) and not any(map(_ASK_WORD.search, finer[1:])):
        return parts  # "When was Act 2. Scene 1 staged?"
    if all(begin):
        return finer
    raise ValueError(f"not a question: {shown(line)}: one question or several?")


def _has_notes(lines: list[str]) -> bool:
    """Return whether items that ask nothing are indented under a list of questions."""
    items = [line for line in lines if is_item(line)]
    if not items or not _can_be_asked(items[0]):
        return False
    under = [line for line in items if _indent(line) > _indent(items[0])]
    return any(not (asks(without_bullet(line)) or is_other_header(line)) for line in under)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _can_be_asked(text: str) -> bool:
    return strip_dress(text).endswith("?")


def _has_words(text: str) -> bool:
    return len(_WORD.findall(text)) > 2


def _asked_in(line: str) -> list[str]:
    """Return the questions of one line, with or without semicolons between them; a quoted one is no question.

    Raises
    ------
    ValueError
        If it cannot be told whether a semicolon stands within a question or between two.
    """
    line = line.strip()
    pieces: list[str] = []
    for piece in re.split(r"\s*;\s+", line):
        continues = _CONTINUES.match(piece) and not (pieces and pieces[-1].endswith("?"))
        if pieces and (continues or pieces[-1].count('"') % 2):
            pieces[-1] += f"; {piece}"
        else:
            pieces.append(piece)
    if len(pieces) > 1:
        if all(map(_can_be_asked, pieces)) and not any(map(_CONTINUES.match, pieces)):
            return pieces
        if any(map(_can_be_asked, pieces[:-1])) or any(
            _asks_at_once(piece) or _ASK_WORD.search(piece) for piece in pieces[1:]
        ):
            raise ValueError(f"not a question: {shown(line)}: one or several?")
    parts = re.split(r"(?<=\?)\s+", line)
    return parts if all(part.endswith("?") and _ASKS.match(part) and '"' not in part for part in parts) else [line]


def _asks_at_once(text: str) -> bool:
    return bool(_ASKS.match(strip_dress(text)))


def _joined(lines: list[str]) -> list[str]:
    """Return the lines, an item that is empty joined to the line after it: ``DQ 1:``, then the question."""
    found: list[str] = []
    for line in lines:
        before = found[-1] if found else ""
        headed = question_of(before) if before else None
        open_item = is_item(before) and not strip_dress(without_bullet(before)).strip(":*_ ")
        if (
            before
            and not is_item(line)
            and question_of(line) is None
            and (open_item or (headed is not None and not headed.strip("*_ ")))
        ):
            found[-1] = f"{before} {line.strip()}"
        else:
            found.append(line)
    return found
