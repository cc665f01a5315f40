"""Lists of numbers, in figures or in words."""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from .nothing import is_null
from .text import decode, embedded, is_item, shown, strip_dress, told, without_fence

_NUMBER = re.compile(r"\d+")
_GRADED = re.compile(
    r"\d *(?:[-–—]|to|through) *\d|\d\.\d|n't\b|"
    r"\b(?:yes|no|not|true|false|but|except|neither|without|only if|rather)\b",
    re.I,
)
_LABEL = r"(?:readings?|candidates?|passages?|questions?|interpretations?|numbers?|items?|no\.|nos\.|dq|#|№)"
_CARDINALS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_VALUES = {word: n for words in (_CARDINALS, _ORDINALS) for n, word in enumerate(words, 1)}
_WORD = rf"(?:{'|'.join([*_ORDINALS, *_CARDINALS])})"
_FIGURE = r"\d+(?:st|nd|rd|th)?"
_COUNTED = re.compile(
    rf"(?P<head>.*?\b(?P<count>\d+|{'|'.join(_CARDINALS)})\b"
    rf"(?:\s+(?:of|out of|are|is|ones?|(?:\w+\s+)?{_LABEL})\b[^:\n]*|\s*)):\s*(?P<tail>.*)",
    re.I | re.S,
)
_NAMES_ONE = re.compile(rf"{_LABEL}[\s#]*(?:\d+|{'|'.join(_CARDINALS)})\s*\Z|\A\W*\d+\s*\Z", re.I)  # they begin an item
_COUNTS = re.compile(
    r"\s+(?:of\b|(?:\w+\s+)?(?:reading|candidate|passage|question|interpretation|number|item)s\b)", re.I
)
_MARKED = re.compile(
    r"\s*(?:[-*•–]\s+)?[*_]*(?:\[(?P<a>\d+)\]|\(?(?P<b>\d+)\s*[.):](?!\d)|#(?P<c>\d+))[*_:.]*\s*(?P<text>.*)"
)
_LABELLED = re.compile(
    rf"\s*(?:[-*•–]\s+)?[*_]*{_LABEL}\s*#?\s*(?P<number>\d+)[*_]*\s*[:.–—-][*_]*\s+(?P<text>\S.*)", re.I
)
_QUANTIFIED = re.compile(
    rf"\b(?:all|every|each|any|both|top|bottom|best|last|next|other|over|under|"
    r"at (?:least|most)|up to|(?:more|fewer|less) than|about)"
    rf"\s+(?:of\s+|the\s+)*(?:\d|{_WORD}\b)",
    re.I,
)
_ONE_NUMBER = re.compile(rf"[*_\[(#]*(?:{_LABEL}\s*)?[*_\[(#]*(\d+)[\]).,;*_]*", re.I)
_PAIR = re.compile(r"\bboth\s+(?:the\s+)?(\w+\s+and\s+(?:the\s+)?\w+)", re.I)  # "both 2 and 3" counts nothing
_OUT_OF = re.compile(rf"\s+(?:out\s+)?of\s+(?:the\s+)?\d+(?:\s+{_LABEL})?\W*\Z", re.I)
_MARK = re.compile(r"(?:\A|[\s,;])\(?\d{1,2}\s*[):](?!\d)")  # the second of "1: Nagano, 3: Tokyo"
_DOTTED = re.compile(r"(?:\d+\s*[.)]\s*)+")  # "1. 3. 4."
_BETWEEN = re.compile(rf"(?:[\s,;.&+#\[\]*_|/\"'`-]|\band\b|\bas well as\b|\bthe\b|\bones?\b|\b{_LABEL})*", re.I)
_WHOLE = re.compile(rf"(?:[\s,;.&#*\"'`()\[\]]|\band\b|\bthe\b|\bones?\b|\b{_LABEL}|\b{_WORD}\b)*", re.I)
_NONE_OF = re.compile(
    r"(?:none|neither)(?:\s+of)?(?:\s+(?:the|these|those|them))?(?:\s+(?:\d+|\w+))?\b(?P<rest>.*)", re.I | re.S
)


def parse_numbers(value: Any) -> list[int]:
    """Return the whole numbers of a list or a text, each once, in order; empty text and "none" give none.

    Text that grades numbers ("1: yes, 2: no", "all but 2"), gives a range, or has numbers apart from one list
    is refused. A count before a colon is none of the numbers.

    >>> parse_numbers("Covered: 1, 3 and 4."), parse_numbers("2 of them: the first and the third")
    ([1, 3, 4], [1, 3])

    Raises
    ------
    ValueError
        If it cannot be told which numbers are meant.
    """
    try:
        return list(dict.fromkeys(_of(value)))
    except ValueError:
        raise ValueError(f"no list of numbers: {shown(value)}") from None


def _of(value: Any) -> list[int]:
    if isinstance(value, str):
        return _of_text(told(value))
    if isinstance(value, Mapping) and len(value) == 1:
        (value,) = value.values()
    items = value if isinstance(value, (list, tuple, set)) else [value]
    flat = [inner for item in items for inner in (item if isinstance(item, (list, tuple)) else [item])]
    return [number for item in flat for number in _of_item(item)]


def _of_item(item: Any) -> list[int]:
    if item is None:
        return []
    if isinstance(item, (int, float)) and not isinstance(item, bool) and item == item // 1:
        return [int(item)]  # also 1.0, which DSPy's repairing parser makes of "1."
    if isinstance(item, str):
        return _of_text(item)
    raise ValueError(item)


def _of_text(text: str) -> list[int]:
    decoded = decode(text)
    if not isinstance(decoded, str):
        return _of(decoded)
    text = strip_dress(without_fence(text))
    if is_null(text) or not re.search(r"[^\s.\[\]]", text):
        if len(_NUMBER.findall(text)) < 2:
            return []
        raise ValueError(text)
    if match := _NONE_OF.fullmatch(text):
        if (
            _NUMBER.search(match["rest"])
            or _GRADED.search(match["rest"])
            or re.search(rf"\b{_WORD}\b|\bonly\b", match["rest"])
        ):
            raise ValueError(text)
        return []
    if (repeated := _marked(text)) and all(match["text"].rstrip(' .*_`"').endswith("?") for match in repeated):
        return _marks(repeated)  # the items are repeated; what they say is no grade
    if _GRADED.search(text) or _QUANTIFIED.search(_PAIR.sub(r"\1", text)):
        raise ValueError(text)
    match = _COUNTED.fullmatch(text)
    if match and not _NAMES_ONE.search(match["head"]):
        found = _plain(match["tail"])
        if len(set(found)) != _value(match["count"]):
            raise ValueError(text)
        return found
    if (match := _OUT_OF.search(text)) and len(_NUMBER.findall(text[: match.start()])) > 1:
        text = text[: match.start()]  # one number before it would be a count
    values, rest = embedded(text)
    if len(values) == 1 and isinstance(values[0], (list, Mapping)) and not _NUMBER.search(rest):
        return _of(values[0])
    return _plain(text)


def _value(word: str) -> int:
    return int(word) if word.isdigit() else _VALUES[word.lower()]


def _plain(text: str) -> list[int]:
    """Return the numbers of one list: the marks of items, figures, or words."""
    if (items := _numbered_numbers(text)) is not None:
        return items
    marked = _marked(text)
    return _marks(marked) if marked else _figures(text)


def _numbered_numbers(text: str) -> list[int] | None:
    """Return the numbers that are the items of a numbered list, ``None`` if the text is no such list.

    A list that does not count up from 1 over two lines or more is refused: its marks may be meant, or its items. So
    are marks with a colon, which may say what belongs to what.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    matches = [match for line in lines if (match := _MARKED.fullmatch(line)) and match["b"]]
    told = [match["text"].strip() for match in matches]
    if not any(_only_numbers(item) for item in told) or all(map(_DOTTED.fullmatch, told)):
        return None
    items = [int(item[1]) for item in map(_ONE_NUMBER.fullmatch, told) if item]
    in_order = [int(match["b"]) for match in matches] == list(range(1, len(lines) + 1))
    colons = any(match.string[match.end("b") :].lstrip().startswith(":") for match in matches)
    if len(items) < max(2, len(lines)) or not in_order or colons:
        raise ValueError(text)
    return items


def _only_numbers(text: str) -> bool:
    return bool(_NUMBER.search(text) and _BETWEEN.fullmatch(_NUMBER.sub("", text)))


def _marked(text: str) -> list[re.Match[str]]:
    """Return the lines ``1. Who hosted in 1998?``, where the figures in the items are none of the numbers.

    There are none if another line has a number, or an item says nothing but more numbers, or holds another mark.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    matches = [_MARKED.fullmatch(line) or _LABELLED.fullmatch(line) for line in lines]
    found = [match for match in matches if match]
    others = [line for line, match in zip(lines, matches, strict=True) if not match]
    if any(_NUMBER.search(line) or is_item(line) for line in others):
        return []
    if any(_BETWEEN.fullmatch(_NUMBER.sub("", match["text"])) or _MARK.search(match["text"]) for match in found):
        return []
    return found


def _marks(found: list[re.Match[str]]) -> list[int]:
    return [int(next(n for key, n in match.groupdict().items() if key != "text" and n)) for match in found]


def _figures(text: str) -> list[int]:
    found = list(re.finditer(rf"\b{_FIGURE}\b", text)) or list(re.finditer(r"\d+", text))
    if found:
        between = [text[one.end() : following.start()] for one, following in pairwise(found)]
        if not all(_BETWEEN.fullmatch(part) for part in between):
            raise ValueError(text)
        if _COUNTS.match(text, found[-1].end()):
            raise ValueError(text)  # "2 readings" counts them
        if len(found) == 1 and re.match(r"\W*\s(?:are|were|have)\b", text[found[0].end() :], re.I):
            raise ValueError(text)  # "2 are covered" counts them
        around = text[: found[0].start()], text[found[-1].end() :]
        if any(re.search(rf"\b{_WORD}\b|\d", re.sub(r"\b(?:no|the) one\b", "", part), re.I) for part in around):
            raise ValueError(text)
        return [int(_NUMBER.findall(match[0])[0]) for match in found]
    return _words(text)


def _words(text: str) -> list[int]:
    """Return what number words mean: ordinals anywhere in one list, cardinals only where nothing else is said."""
    plain = re.sub(rf"\b(the|{'|'.join(_ORDINALS)})\s+ones?\b", r"\1", text, flags=re.I)
    found = list(re.finditer(rf"\b{_WORD}\b", plain, re.I))
    if not found:
        raise ValueError(text)
    if not all(_BETWEEN.fullmatch(plain[one.end() : following.start()]) for one, following in pairwise(found)):
        raise ValueError(text)
    ordinal = all(match[0].lower() in _ORDINALS for match in found)
    if not ordinal and _COUNTS.match(plain, found[-1].end()):
        raise ValueError(text)
    labelled = re.search(rf"{_LABEL}\s+{_WORD}\b", plain[: found[0].end()], re.I)
    if not (ordinal or labelled or _WHOLE.fullmatch(plain)):
        raise ValueError(text)
    if not ordinal and any(match[0].lower() in _ORDINALS for match in found):
        raise ValueError(text)
    return [_VALUES[match[0].lower()] for match in found]
