"""What all lenient parsers do with text first: leave out thoughts, find JSON in it, split it into items."""

import ast
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from polyqa.base.text import well_formed

_THOUGHT = re.compile(r"<(think|thinking|thought)>.*?</\1>", re.S | re.I)
_UNOPENED = re.compile(r"\A.*</(?:think|thinking|thought)>", re.S | re.I)
_UNCLOSED = re.compile(r"<(?:think|thinking|thought)>.*\Z", re.S | re.I)
_FENCE = re.compile(r"\A```[\w-]*[ \t]*\n?(.*?)\n?[ \t]*```\Z", re.S)
_BULLET = re.compile(r"\A\s*(?:[-*•–]\s+|\(?\d{1,2}\s*[.):](?!\d)\s*|\[\d{1,3}\]\s*)")
_NUMBERED = re.compile(r"\A\s*(?:[-*•–]\s+)?[*_]{0,2}(?:\(?\d{1,2}\s*[.):](?!\d)|\[\d{1,3}\])[*_]{0,2}\s*")
_RULE = re.compile(r"\s*(?:[-*_=#`~|+:]\s*)*")
_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "«": "»"}
_MOST_UNCLOSED = 8
_MOST_REPEATED = 64
_LONGEST_REPEATED = 24
_LOOP = re.compile(rf"(.{{1,{_LONGEST_REPEATED}}}?)\1{{{_MOST_REPEATED},}}", re.S)
_PROBE = 16  # characters, and two probes in the shortest loop
_GAP = re.compile(rf"(\s{{{_MOST_REPEATED}}})\s+")
_LONGEST = 100_000  # characters; a model that reasons has at most 16,000 tokens for a reply


def without_loops(text: str) -> str:
    """Return a text in which nothing of up to 24 characters follows itself more than 64 times.

    A language model that has lost its way repeats itself to the end of its tokens. What is read with regular
    expressions takes the square of the length of such a run.

    >>> len(without_loops("Yes" + 5000 * " " + "." + 300 * "na"))
    196
    """
    text = _GAP.sub(r"\1", text)
    return _LOOP.sub(lambda found: found[1] * _MOST_REPEATED, text) if _may_loop(text) else text


def _may_loop(text: str) -> bool:
    """Return whether any of some short pieces, one of which lies in every loop, comes again where it would in one.

    Most texts have no loop, and looking for one everywhere takes longer than reading the rest of a reply.
    """
    pieces = range(0, len(text) - _PROBE, 2 * _PROBE)
    return any(text.find(text[at : at + _PROBE], at + 1, at + _PROBE + _LONGEST_REPEATED) >= 0 for at in pieces)


def without_thoughts(text: str) -> str:
    """Return a reply without what a reasoning model thought aloud, and without loops.

    A block that was never opened ends at its closing tag, one that was never closed ends with the reply.

    >>> without_thoughts("<think>Is it? No.</think>Yes"), without_thoughts("It may be No.</think>Yes")
    ('Yes', 'Yes')
    """
    text = without_loops(well_formed(text).replace("\r\n", "\n"))
    if "</" in text:  # else it would look for the end of each block that was opened
        text = _UNOPENED.sub("", _THOUGHT.sub("", text))
    return _UNCLOSED.sub("", text).strip()


def told(text: str) -> str:
    """Return what a reply says after its thoughts.

    Raises
    ------
    ValueError
        If there are thoughts and nothing else, as when the limit of tokens cut the reply off, or if the rest has more
        than 100,000 characters.
    """
    said = without_thoughts(text)
    if len(said) > _LONGEST:
        raise ValueError(f"{len(said):,} characters where at most {_LONGEST:,} are read: {shown(said)}")
    if text.strip() and not said:
        raise ValueError(f"nothing but thoughts: {text!r:.200}")
    return said


def shown(value: Any) -> str:
    """Return the beginning of a value as an error message shows it."""
    return f"{value!r:.200}"


def without_fence(text: str) -> str:
    r"""Return what stands in a code fence that is around the whole text.

    >>> without_fence("```json\n[1]\n```")
    '[1]'
    """
    match = _FENCE.match(text.strip())
    return match[1].strip() if match and "```" not in match[1] else text.strip()


def strip_quotes(text: str) -> str:
    """Return a text without the quotes around the whole of it; those around parts of it stay."""
    text = text.strip()
    while len(text) > 1 and _QUOTES.get(text[0]) == text[-1] and not {text[0], text[-1]} & set(text[1:-1]):
        text = text[1:-1].strip()
    return text


def strip_dress(text: str) -> str:
    """Return a text without the quotes, bold marks and back-ticks around the whole of it.

    >>> strip_dress("**`Nagano`**"), strip_dress("**Nagano** and **Tokyo**"), strip_dress("M*A*S*H")
    ('Nagano', '**Nagano** and **Tokyo**', 'M*A*S*H')
    """
    before = ""
    while text != before:
        before, text = text, strip_quotes(text)
        for mark in ("****", "**", "__", "*", "_"):
            inner = text[len(mark) : -len(mark)]
            if len(text) > 2 * len(mark) and text.startswith(mark) and text.endswith(mark) and mark not in inner:
                text = inner.strip()
                break
    return text


def without_bullet(line: str) -> str:
    """Return a line without its bullet or its number."""
    numbered = _NUMBERED.match(line)
    # "- 3." is an item that consists of a number.
    return line[numbered.end() :] if numbered and line[numbered.end() :].strip() else _BULLET.sub("", line, count=1)


def is_item(line: str) -> bool:
    """Return whether a line begins with a bullet or a number."""
    return bool(_BULLET.match(line) or _NUMBERED.match(line))


def is_rule(line: str) -> bool:
    """Return whether nothing but marks stands in a line: ``---``, ``**``, a fence's end."""
    return bool(_RULE.fullmatch(line))


def parse_lines(text: str) -> list[str]:
    r"""Return the items of a bulleted, numbered or plain list, one line each.

    When at least one line carries a bullet or a number, the lines without one are prose around the
    list and are left out.

    >>> parse_lines("Here they are:\n1: Who won in 1998?\n2: Who won in 2002?")
    ['Who won in 1998?', 'Who won in 2002?']
    """
    lines = [line for line in text.splitlines() if line.strip() and not is_rule(line)]
    marked = [line for line in lines if is_item(line)]
    return [item for line in (marked or lines) if (item := strip_dress(without_bullet(line)))]


def split_numbered(line: str, whole: Callable[[str], bool] = bool) -> list[str]:
    """Return the items of a numbered list that stands on one line; the line itself if it is none.

    The numbers must count up from 1, and ``whole`` tells whether a text can be an item.

    >>> split_numbered("1. Who won? 2. Who lost?"), split_numbered("Who won Act 2. Scene 1?")
    (['Who won?', 'Who lost?'], ['Who won Act 2. Scene 1?'])
    """
    starts: list[tuple[int, int]] = []
    for mark in (r"{}\.", r"\(?{}\)", r"\[{}\]"):
        starts, position = [], 0
        while match := re.compile(rf"(?:\A|(?<=\s)){mark.format(len(starts) + 1)}\s+").search(line, position):
            position = match.end()
            if not starts or whole(line[starts[-1][1] : match.start()].strip(" \t;,")):
                starts.append(match.span())
        if len(starts) > 1 and not line[: starts[0][0]].strip() and whole(line[starts[-1][1] :].strip(" \t;,")):
            break
        starts = []
    if not starts:
        return [line]
    ends = [start for start, _ in starts[1:]] + [len(line)]
    return [line[start:end].strip(" \t;,") for (_, start), end in zip(starts, ends, strict=True)]


def decode(text: str) -> Any:
    """Return the JSON or Python literal in ``text`` (a code fence around it is fine), else the text."""
    body = without_fence(text)
    if body[:1] in ("[", "{"):
        found = _literal(body)
        return text if found is None else found
    return text


def _literal(text: str) -> Any:
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            continue  # literal_eval documents all of these for malformed text
    return None


def embedded(text: str) -> tuple[list[Any], str]:
    r"""Return the JSON or Python lists and mappings that stand in a text, and the text without them.

    >>> embedded('Two:\n{"a": 1}\n{"a": 2}\nDone.')
    ([{'a': 1}, {'a': 2}], 'Two:\n\n\nDone.')
    """
    found: list[Any] = []
    rest, position = [], 0
    for start, end in _spans(text):
        value = _literal(text[start:end])
        if value is None:
            continue
        found.append(value)
        rest.append(text[position:start])
        position = end
    return found, "".join([*rest, text[position:]])


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where outermost brackets open and close."""
    position = failed = 0
    while failed < _MOST_UNCLOSED:
        match = re.compile(r"[\[{]").search(text, position)
        if not match:
            return
        end = closing(text, match.start())
        if end is None:
            position = match.end()
            failed += 1
            continue
        yield match.start(), end
        position = end


def closing(text: str, start: int) -> int | None:
    """Return where the bracket that opens at ``start`` has closed, ``None`` if it does not; quotes are heeded."""
    pairs = {"[": "]", "{": "}", "(": ")"}
    due: list[str] = []
    quote = before = ""
    place = start
    while place < len(text):
        mark = text[place]
        if quote:
            if mark == "\\":
                place += 1
            elif mark == quote:
                quote = ""
        elif mark == '"' or (mark == "'" and before in "[{(,:="):  # an apostrophe follows a letter
            quote = mark
        elif mark in pairs:
            due.append(pairs[mark])
        elif due and mark == due[-1]:
            due.pop()
            if not due:
                return place + 1
        before = before if mark.isspace() else mark
        place += 1
    return None
