r"""HTML and Markdown made of anybody's texts: what a text holds is shown, and never acts.

`tag` escapes every text that is not `Html`, so that only what is made here is markup. Characters that steer a terminal
or turn the direction of writing are left out, and half a character is shown as U+FFFD.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from .text import well_formed

# C0 without tab and line feed, DEL, C1, and what turns the direction of writing; `cli.terminal` leaves out the same.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# What Markdown, its tables, raw HTML in it and a notebook's formulas begin with, wherever it stands.
_MARKDOWN = re.compile(r"[\\`*_\[\]<>|~$]|&(?=#?\w+;)")
# A heading, a list, a line.
_AT_START = re.compile(r"[#=]|[+-](?=[\s-]|$)|\d{1,9}(?=[.)](?:\s|$))")
_STYLE = """
.polyqa{max-width:60em;line-height:1.45}
.polyqa table{border-collapse:collapse;margin:.6em 0;color:inherit;background:transparent}
.polyqa th,.polyqa td{border:1px solid rgba(128,128,128,.4);padding:.25em .6em;text-align:left;vertical-align:top;
color:inherit;background:transparent}
.polyqa .number{text-align:right;white-space:nowrap}
.polyqa .quiet{opacity:.7;font-size:.9em}
.polyqa mark{background:rgba(255,200,0,.4);color:inherit}
.polyqa a{color:inherit}
"""
"""Colours are the notebook's own, light or dark; borders and marks are see-through."""


class Html(str):
    """A text that is HTML; any other text is escaped before it stands in HTML."""

    __slots__ = ()


def plain(text: object) -> str:
    r"""Return a text without control characters, half characters, and white space around it or in a row.

    >>> plain(" Titanic\x1b[31m \n (film)")
    'Titanic[31m (film)'
    """
    return " ".join(well_formed(_STEERING.sub("", str(text))).split())


def shortened(text: object, most: int) -> str:
    """Return a text of at most so many characters, with an ellipsis if something was left out.

    >>> shortened("When did Titanic come out?", 12)
    'When did Ti…'
    """
    whole = plain(text)
    return whole if len(whole) <= most else whole[: most - 1].rstrip() + "…"


def html(text: object) -> Html:
    """Return a text as HTML; what is `Html` stays.

    >>> html('<b>"5 & 6"</b>'), html(Html("<b>5</b>"))
    ('&lt;b&gt;&quot;5 &amp; 6&quot;&lt;/b&gt;', '<b>5</b>')
    """
    return text if isinstance(text, Html) else Html(escape(_spaced(text), quote=True))


def _spaced(text: object) -> str:
    return re.sub(r"\s+", " ", well_formed(_STEERING.sub("", str(text))))


def joined(parts: Iterable[object]) -> Html:
    """Return parts one after the other."""
    return Html("".join(map(html, parts)))


def tag(name: str, *content: object, **attributes: str) -> Html:
    """Return an element; ``class_`` is the attribute class.

    >>> tag("a", "<1>", href="#x", class_="y")
    '<a href="#x" class="y">&lt;1&gt;</a>'
    """
    told = "".join(f' {key.rstrip("_")}="{html(value)}"' for key, value in attributes.items())
    return Html(f"<{name}{told}>{joined(content)}</{name}>")


def html_table(head: Sequence[object], rows: Iterable[Sequence[object]], *, numbers: Iterable[int] = ()) -> Html:
    """Return a table.

    Parameters
    ----------
    head
        Titles of the columns; none are shown if there are none.
    rows
        As many cells each.
    numbers
        Places of the columns that hold numbers, from 0.
    """
    right = frozenset(numbers)

    def row(cells: Sequence[object], name: str) -> Html:
        return tag(
            "tr",
            *(tag(name, cell, class_="number") if at in right else tag(name, cell) for at, cell in enumerate(cells)),
        )

    shown = [tag("thead", row(head, "th"))] if head else []
    return tag("table", *shown, tag("tbody", *(row(cells, "td") for cells in rows)))


def html_facts(data: Mapping[str, object]) -> Html:
    """Return a table of names and values."""
    return html_table((), [(tag("b", name), value) for name, value in data.items()])


def html_block(*content: object) -> Html:
    """Return what a notebook shows for a value: one element, with its own style, and without any script."""
    return tag("div", tag("style", Html(_STYLE)), *content, class_="polyqa")


def markdown(text: object) -> str:
    r"""Return a text on one line that Markdown shows as it is.

    >>> print(markdown("# <b>5*6</b> & [x](y)"), markdown("1. AT&T"), markdown("-0.9 &lt;"))
    \# \<b\>5\*6\</b\> & \[x\](y) 1\. AT&T -0.9 \&lt;
    """
    escaped = _MARKDOWN.sub(r"\\\g<0>", plain(text))
    if start := _AT_START.match(escaped):
        at = start.end() if start[0].isdigit() else 0
        escaped = f"{escaped[:at]}\\{escaped[at:]}"
    return escaped


def markdown_rows(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells that are Markdown already."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows])


def markdown_facts(title: object, data: Mapping[str, object]) -> str:
    """Return a title, and below it a table of names and values, as Markdown."""
    rows = [[markdown(name), markdown(value)] for name, value in data.items()]
    return f"## {markdown(title)}\n\n{markdown_rows(['', ''], rows)}\n"
