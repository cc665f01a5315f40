"""Markup that kreuzberg does not know: front matter, MkDocs' admonitions, the directives and roles of Sphinx."""

import re
from collections.abc import Mapping
from datetime import date
from typing import Any

from polyqa.base.text import printable
from polyqa.base.values import MetadataValue

_RESERVED = ("source", "section", "page", "line", "pid")
"""What polyqa itself says of a passage; a file may not, in capitals neither: columns differ in more than case."""
_LONGEST_FRONT_MATTER = 1 << 16  # characters
_LARGEST = 1 << 63  # the first whole number that SQLite does not take
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)(?:---|\.\.\.)[ \t]*\n", re.DOTALL)
_DIRECTIVE = re.compile(r"^( *)\.\. (?:([\w:-]+)::|(\[[^\]]+\]|_[^:\n]*:|\|[^|]+\| .*|(?!\S+::)[^_\[|\s].*|$))(.*)$")
_ADMONITION = re.compile(r"^( *)(?:!!!|\?\?\?\+?|===)\s+(?:[\w-]+(?:\s+[\w-]+)*)?\s*(?:\"([^\"]*)\")?\s*()()$")
_CODE = re.compile("code(-block)?|sourcecode|parsed-literal|math|productionlist|prompt|doctest|testcode|console")
_TABLE = re.compile("(list-|csv-)?table")
_WITHOUT_TEXT = re.compile(
    "toctree|contents|index|image|figure|meta|raw|(literal)?include|(py:)?(current)?module|highlight|(default-)?role|"
    "testsetup|auto.*|graphviz|sectionauthor|codeauthor|title|plot|replace|target-notes"
)
_VERSIONS = {
    "versionadded": "New in version ",
    "versionchanged": "Changed in version ",
    "deprecated": "Deprecated since version ",
}
_OPTION = re.compile(r"\s+:[\w-]+:(?: |$)")
_BORDER = re.compile(r" *=+(?: +=+)+ *")
_ROLE = re.compile(r"(?<!\w):[\w:+-]+:`([^`]+)`")
_TEXT_LINE = re.compile(r" *(?!(?:[-*+]|#\.|\d+[.)]|\(\d+\)) +\S|\.\. |:[\w-]+:(?: |$)|>>>|[-=+|~^\"'`#*]{3,}|\|)\S")
_BULLET = re.compile(r"^( *)([-*+]|#\.|\d+[.)]|\(\d+\)) +\S")


def front_matter(text: str) -> tuple[dict[str, MetadataValue], str]:
    r"""Return what a Markdown file says of itself in YAML, and the text without it, in as many lines.

    >>> front_matter("---\ntitle: Falcon\ndate: 2024-01-02\ntags: [a, b]\n---\nText")
    ({'title': 'Falcon', 'date': '2024-01-02', 'tags': 'a, b'}, 'Text')
    """
    import yaml

    match = _FRONT_MATTER.match(text)
    if match is None or len(match[1]) > _LONGEST_FRONT_MATTER:
        return {}, text
    try:
        fields = yaml.safe_load(match[1])
    except (yaml.YAMLError, ValueError, RecursionError):  # ValueError: a day that is none, a number without digits
        return {}, text
    if not isinstance(fields, dict):
        return {}, text
    return _values(fields), text[match.end() :]


def _values(fields: Mapping[Any, Any]) -> dict[str, MetadataValue]:
    """Return fields as metadata: lists become texts, dates ISO dates; nested fields are left out."""
    values: dict[str, MetadataValue] = {}
    for key, value in fields.items():
        name = printable(str(key)).strip()
        if not name or name.lower() in _RESERVED:
            continue
        if isinstance(value, date):
            values[name] = value.isoformat()
        elif isinstance(value, (bool, int, float)):
            values[name] = value if abs(value) < _LARGEST else str(value)
        elif isinstance(value, str):
            values[name] = printable(value)
        elif isinstance(value, list) and not any(isinstance(item, (list, dict)) for item in value):
            values[name] = printable(", ".join(map(str, value)))
    return values


def markup_of(text: str) -> str:
    r"""Return the suffix of the markup that a plain text is written in: ``.rst``, ``.md``, or ``.txt`` for none.

    >>> markup_of("Falcon\n======\n\n.. note::\n\n   It flies."), markup_of("Falcon\n\nIt flies.")
    ('.rst', '.txt')
    """
    if re.search(r"(?m)^ *\.\. (?:[\w:-]+::|_[^:\n]+:)", text) or len(_ROLE.findall(text)) > 1:
        return ".rst"
    if len(re.findall(r"(?m)^#{1,4} \S", text)) > 1 and re.search(r"(?m)^```|\]\(\S+\)", text):
        return ".md"
    return ".txt"


def flat_markdown(text: str) -> str:
    """Return Markdown in which the bodies of MkDocs' admonitions and tabs are paragraphs."""
    lines, at, fenced = text.split("\n"), 0, False
    while at < len(lines):
        fenced ^= bool(re.match(r" *(```|~~~)", lines[at]))
        match = None if fenced else _ADMONITION.match(lines[at])
        if match:
            lines[at] = f"{match[1]}{match[2]}\n" if match[2] else ""
            _dedent(lines, at + 1, len(match[1]))
        at += 1
    return re.sub(r"(?m)^( *#.*?)\s*\{\s*[:#.][^{}]*\}$", r"\1", "\n".join(lines))


def flat_rst(text: str) -> str:
    """Return reStructuredText in which directives that hold text are paragraphs, and those that hold none are gone."""
    lines, at = text.split("\n"), 0
    while at < len(lines):
        match = _DIRECTIVE.match(lines[at])
        name = match[2] or "" if match else ""
        if match and (_CODE.fullmatch(name) or _TABLE.fullmatch(name)):
            lines[at] = f"{match[1]}.. {name if _TABLE.fullmatch(name) else 'code-block'}::{match[4]}"
            end = _end(lines, at + 1, len(match[1]))
            lines[at + 1 : end] = ["" if _OPTION.match(line) else line for line in lines[at + 1 : end]]
            at = max(at, end - 1)
        elif match:
            _flatten(lines, at, match)
        elif _BORDER.fullmatch(lines[at]):
            borders = [row for row in range(at, _paragraph_end(lines, at)) if _BORDER.fullmatch(lines[row])]
            end = (borders[-1] if len(borders) > 2 else _paragraph_end(lines, at) - 1) + 1
            if not "".join(lines[at:end]).isascii():  # kreuzberg counts the columns of such a table in bytes, and fails
                lines[at:end] = [".. code-block::", "", *(f"   {line}" for line in lines[at:end]), ""]
                end += 3
            at = end - 1
        elif lines[at].rstrip().endswith("::"):  # kreuzberg sees it in paragraphs of one line only
            indent = len(lines[at]) - len(lines[at].lstrip())
            end = _end(lines, at + 1, indent)
            lines[at] = lines[at].rstrip()[:-1].removesuffix(" :")
            if end > at + 1:
                lines[at + 1 : at + 1] = ["", f"{' ' * indent}.. code-block::", ""]
                at = end + 2
        elif bullet := _BULLET.match(lines[at]):
            _join(lines, at, len(bullet[1]) + 1)
        elif lines[at].startswith(" ") and _TEXT_LINE.match(lines[at]):
            _join(lines, at, len(lines[at]) - len(lines[at].lstrip()))
            lines[at] = lines[at].lstrip()
        at += 1
    text = re.sub(r"``([^`\n]+)``", r"\1", "\n".join(lines))
    return _ROLE.sub(_role_text, text)


def _paragraph_end(lines: list[str], begin: int) -> int:
    return next((at for at in range(begin, len(lines)) if not lines[at].strip()), len(lines))


def _flatten(lines: list[str], at: int, match: re.Match[str]) -> None:
    indent, name, other, argument = match.groups()
    end = _end(lines, at + 1, len(indent))
    if name is None and other.startswith("["):  # a footnote
        lines[at] = indent + argument.strip()
    elif name is None or _WITHOUT_TEXT.fullmatch(name):
        lines[at:end] = [""] * (end - at)
        return
    else:
        lines[at] = indent + _VERSIONS.get(name, "") + argument.strip()
        for option in range(at + 1, end):
            if not _OPTION.match(lines[option]):
                break
            lines[option] = ""
    if argument.strip() and at + 1 < end and lines[at + 1].strip():  # the argument goes on
        first = next((number for number in range(at + 1, end) if not lines[number].strip()), end)
        lines[at] = " ".join([lines[at], *(line.strip() for line in lines[at + 1 : first])])
        lines[at + 1 : first] = [""] * (first - at - 1)
    _dedent(lines, at + 1, len(indent))


def _end(lines: list[str], begin: int, indent: int) -> int:
    """Return where the lines end that are indented further."""
    end = begin
    for number in range(begin, len(lines)):
        if lines[number].strip():
            if len(lines[number]) - len(lines[number].lstrip()) <= indent:
                break
            end = number + 1
    return end


def _dedent(lines: list[str], begin: int, indent: int) -> None:
    end = _end(lines, begin, indent)
    body = [line for line in lines[begin:end] if line.strip()]
    if body:
        deeper = min(len(line) - len(line.lstrip()) for line in body) - indent
        lines[begin:end] = [line[:indent] + line[indent + deeper :] for line in lines[begin:end]]


def _join(lines: list[str], at: int, least: int) -> None:
    """Put the lines of a paragraph that are indented so far into one, which kreuzberg takes for several else."""
    end = at + 1
    while end < len(lines) and _TEXT_LINE.match(lines[end]) and len(lines[end]) - len(lines[end].lstrip()) >= least:
        end += 1
    if not lines[end - 1].rstrip().endswith("::"):
        lines[at] = " ".join([lines[at], *(line.strip() for line in lines[at + 1 : end])])
        del lines[at + 1 : end]


def flat_roles(text: str) -> str:
    """Return a text with what its roles show, in as many lines."""
    return _ROLE.sub(lambda match: _role_text(match) + "\n" * match[0].count("\n"), text)


def _role_text(match: re.Match[str]) -> str:
    """Return what a role shows: the text before its target, or the last part of a name after a tilde."""
    text, *target = re.split(r"\s*<", " ".join(match[1].split()))
    if target:
        return text
    return text.rsplit(".", 1)[-1] if text.startswith("~") else text.lstrip("!")
