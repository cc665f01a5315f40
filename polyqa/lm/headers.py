"""The headers of a lean reply: found in whatever dress a language model gives them, escaped in data."""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import NamedTuple

_FENCE = re.compile(r"^[ \t]*```(.*)$", re.M)
_FENCED = re.compile(r"\A```(?:markdown|md|text)?[ \t]*\n(.*)\n```\Z", re.S)
_SEPARATOR = re.compile(r"[ \t]*(?::|=|[-–—](?=[ \t]|$))[ \t]*")
_COMPLETED = "completed"  # ends a reply in the format of DSPy's ChatAdapter


class _Head(NamedTuple):
    name: str
    start: int
    end: int
    opens: bool  # whether it stands at the beginning of the text


class _Dresses(NamedTuple):
    marked: re.Pattern[str]
    bold: re.Pattern[str]
    plain: re.Pattern[str]
    data: re.Pattern[str]


@lru_cache(maxsize=256)
def _dresses(names: tuple[str, ...]) -> _Dresses:
    """Return the patterns of headers, the surest first, and of lines of data that must not be taken for one."""
    any_of = "|".join(re.escape(name).replace("_", "[ _-]?") for name in sorted(names, key=len, reverse=True))
    brackets = rf"[*#> \t]*\[\[[ \t#]*(?P<in_brackets>{any_of}|{_COMPLETED})[ \t#]*\]\]"
    hashes = rf"[ \t]*#{{1,6}}[ \t]*[*_`]*(?:\d+[.)][ \t]*)?(?P<after_hash>{any_of})(?![\w])[*_`]*"
    flags = re.M | re.I
    return _Dresses(
        re.compile(rf"^(?:{brackets}|{hashes})", flags),
        re.compile(
            rf"^[ \t]*(?:(?:[-*•]|\d+[.)])[ \t]+)?(?P<mark>[*_`]{{1,3}})(?P<bold>{any_of})(?::?(?P=mark)[ \t]*:?|:)",
            flags,
        ),
        re.compile(rf"^[ \t]*(?:[-*•][ \t]+)?(?P<plain>{any_of})[ \t]*[:=]", flags),
        re.compile(rf"^(?=\\*(?:{brackets}|{hashes}))", flags),
    )


def escape(text: str, names: Sequence[str]) -> str:
    r"""Return data in which no line can be taken for a header of one of the fields.

    >>> escape("## answer", ["answer"])
    '\\## answer'
    """
    return _dresses(tuple(names)).data.sub(r"\\", text)


def unescape(text: str, names: Sequence[str]) -> str:
    """Undo `escape`."""
    data = _dresses(tuple(names)).data
    return "\n".join(line[1:] if line.startswith("\\") and data.match(line) else line for line in text.split("\n"))


def needs_no_header(text: str, name: str) -> bool:
    """Return whether a text, as the whole reply, is read as what it is; else it needs the header of its field.

    >>> needs_no_header("It came out in 1997.", "answer"), needs_no_header("Answer: 1997", "answer")
    (True, False)
    """
    heads = (_heads(pattern, text, {name: ""}, ()) for pattern in _dresses((name,))[:3])
    plain = not text.lstrip().startswith(("{", "```")) and _without_bare_head(text, name) == text.strip()
    return bool(text.strip()) and plain and not any(heads)


def section(name: str, text: str) -> str:
    """Return a field with its header."""
    return f"## {name}\n{text}"


def sections(
    text: str, hints: Mapping[str, str], *, text_fields: Collection[str], needed: Collection[str]
) -> dict[str, str]:
    """Split a reply at the headers of the expected fields.

    The plainest dress in which every needed field is found counts: ``## field`` and ``[[ ## field ## ]]``, then
    ``**field**:``, then ``field:``. So a line of text that begins like a plain header does no harm where the reply
    has better ones. Of each field the first header counts.

    Parameters
    ----------
    text
        The reply, without thoughts.
    hints
        The expected fields with what the prompt says of each.
    text_fields
        Those that hold any text: after ``## field`` the line must end, or go on after a colon.
    needed
        Those without which a reply is not complete.

    Returns
    -------
    dict
        Field to text; fields that were not found are absent. A reply to a single field may lack its header.
    """
    if not hints:
        return {}
    dresses = _dresses(tuple(hints))
    fenced = _FENCED.match(text)
    if fenced and any(_heads(pattern, fenced[1], hints, text_fields) for pattern in dresses[:3]):
        text = fenced[1]
    heads: list[_Head] = []
    for pattern in dresses[:3]:
        new_heads = _heads(pattern, text, hints, text_fields)
        if len(hints) == 1 and pattern is not dresses.marked:
            new_heads = [head for head in new_heads if head.opens or head.name not in text_fields or "_" in head.name]
        heads = sorted({head.start: head for head in [*new_heads, *heads]}.values(), key=lambda head: head.start)
        if {head.name for head in heads} >= set(needed):
            break
    if len(hints) == 1 and not any(head.name in hints for head in heads):
        (name,) = hints
        body = _without_bare_head(text[: heads[0].start if heads else len(text)], name)
        return {name: unescape(body, (name,))} if body or not text.strip() else {}
    bodies: dict[str, str] = {}
    for head, following in zip_longest(heads, heads[1:]):
        if head.name in hints:
            body = text[head.end : following.start if following else len(text)].strip()
            bodies.setdefault(head.name, unescape(body, tuple(hints)))
    return bodies


def _without_bare_head(text: str, name: str) -> str:
    """Return the only field of a reply without its bare name, on a line of its own before the text.

    Small models copy it from the prompt. A reply that is nothing else may be a word, such as *answer*, but no name of
    several words, such as *proposed_instruction*.
    """
    first, _, rest = text.strip().partition("\n")
    headed = key_of(first.strip()) == key_of(name) and (rest.strip() or "_" in name)
    return rest.strip() if headed else text.strip()


def _heads(pattern: re.Pattern[str], text: str, hints: Mapping[str, str], text_fields: Collection[str]) -> list[_Head]:
    by_spelling = {key_of(name): name for name in hints}
    heads = []
    for match in pattern.finditer(text):
        written = next(value for key, value in match.groupdict().items() if value and key != "mark")
        name = by_spelling.get(key_of(written), _COMPLETED)
        line_end = text.find("\n", match.end())
        rest_of_line = text[match.end() : line_end if line_end >= 0 else len(text)]
        end = match.end()
        if separator := _SEPARATOR.match(rest_of_line):
            end += separator.end()
        elif rest_of_line.strip() == f"({hints.get(name, '')})":  # the prompt's line was copied
            end += len(rest_of_line)
        elif rest_of_line.strip() and match.groupdict().get("after_hash") and name in text_fields:
            continue  # "## Answer to the first reading" is a heading of the text
        heads.append(_Head(name, match.start(), end, not text[: match.start()].strip()))
    fences = _fences(text)
    outside = [head for head in heads if not any(start < head.start < end for start, end in fences)]
    # "# code" in a block of code is a comment; a reply of several fields may stand in a block as a whole.
    return outside or (heads if len(hints) > 1 else [])


def _fences(text: str) -> list[tuple[int, int]]:
    """Return where blocks of code begin and end; one that is not closed, but for the beginning of another, is none."""
    fences = []
    start: int | None = None
    for match in _FENCE.finditer(text):
        if start is None or match[1].strip(" \t"):
            start = match.start()
        else:
            fences.append((start, match.end()))
            start = None
    return fences


def key_of(name: str) -> str:
    """Return what is the same of a field's name however it is spelled: ``short_answer``, ``Short answer``."""
    return re.sub(r"[ _-]", "", name).lower()
