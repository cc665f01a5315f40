"""Reads Markdown: that of files, and what other markup and web pages are turned into."""

import html
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from polyqa.base.text import printable
from polyqa.base.values import MetadataValue

from .blocks import Block, rows_text
from .cleaning import COOKIES, FIELDS, FURNITURE, fields_parted, inline

if TYPE_CHECKING:
    from markdown_it.token import Token

_RESERVED = ("source", "section", "page", "line", "pid")
"""What polyqa itself says of a passage; a file may not, in capitals neither: columns differ in more than case."""
_LONGEST_FRONT_MATTER = 1 << 16  # characters
_LARGEST = 1 << 63  # the first whole number that SQLite does not take
_FRONT_MATTER = re.compile(r"\A(?:---[ \t]*\n(.*?\n)(?:---|\.\.\.)|\+\+\+[ \t]*\n(.*?\n)\+\+\+)[ \t]*\n", re.DOTALL)
"""In YAML, or in TOML as Hugo has it."""
_ADMONITION = re.compile(r"( *)(?:!!!|\?\?\?\+?|===)\s+(?:[\w-]+(?:\s+[\w-]+)*)?\s*(?:\"([^\"]*)\")?\s*")
_DEFINITION = re.compile(r"( *): {1,3}(\S.*)")
_SHORTCODE = re.compile(
    r"\{\{[<%].*?[%>]\}\}|(?<=\]\()\{[{%].*?[%}]\}[^()]*(?=\))"
    r"|^ *\{%.*%\} *$|^ *:{3,} *(?:\{?[\w-]+\}?)?|\{[\w:+-]+\}(?=`)|^\([\w.-]+\)=$"
    r"|^import\s(?:.*\sfrom\s+)?(['\"])[^'\"]+\1;? *$|^export const \w+ = .*;$"
)
"""Tags of Hugo and of Jekyll, containers, roles and labels of MyST, and what MDX takes from elsewhere."""
_CALLOUT = re.compile(r"^( *(?:> ?)+)\[![\w-]+\][-+]? *(.*)$")
"""A quotation that GitHub and Obsidian show as a note, with its title if it has one."""
_NOTES = re.compile(
    r"!\[\[[^\[\]]*\]\]|%%[^%]+%%|\s\^[\w-]{5,}\Z"
    r"|(?<![\w\]])\[\[(?! )(?:[^\[\]|]*[|/])?#?([^\[\]|]+)\]\]|==(\S(?:[^=]*\S)?)==|(?<=\w)(:):(?= \S)"
)
"""What Obsidian adds to Markdown: pictures, comments and labels; links, marked texts and fields, which stay."""
_ATTRIBUTES = re.compile(r"^( *#.*?)\s*\{\s*[:#.][^{}]*\}$")
_MYST_CODE = re.compile(
    r"\{(?:code.*|math|mermaid|(?:r|python|julia|sql|bash|sh|ojs|stan|rcpp|dot)\b.*)\}.*", re.IGNORECASE
)
"""Code of MyST, and of R Markdown and Quarto: ``{r fit, echo=FALSE}``."""
_MYST_WITHOUT_TEXT = re.compile(r"\{(?:toctree|contents|include|literalinclude|image|figure)\}.*")
_OPTIONS = re.compile(r"\A(?:\s*:[\w-]+:.*)+")  # of a directive of MyST


def front_matter(text: str) -> tuple[dict[str, MetadataValue], str]:
    r"""Return what a Markdown file says of itself in YAML or TOML, and the text with empty lines in its place.

    >>> front_matter("---\ntitle: Falcon\ndate: 2024-01-02\ntags: [a, b]\n---\nText")
    ({'title': 'Falcon', 'date': '2024-01-02', 'tags': 'a, b'}, '\n\n\n\n\nText')
    """
    import yaml

    match = _FRONT_MATTER.match(text)
    if match is None or len(match[0]) > _LONGEST_FRONT_MATTER:
        return {}, text
    try:
        fields = tomllib.loads(match[2]) if match[1] is None else yaml.safe_load(match[1])
    except (yaml.YAMLError, ValueError, RecursionError):  # ValueError: a day that is none, a number without digits
        return {}, text
    if not isinstance(fields, dict):
        return {}, text
    return _values(fields), "\n" * match[0].count("\n") + text[match.end() :]


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


def markdown_blocks(text: str, *, web: bool = False) -> list[Block]:
    """Return the blocks of Markdown, each with its line.

    Of what was a ``web`` page that is left out which only leads elsewhere: lists of links, buttons and cookie texts.
    """
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text if web else _flat(text))
    blocks: list[Block] = []
    rows: list[list[str]] = []
    first, items, depth = 1, 0, 0
    for at, token in enumerate(tokens):
        line = token.map[0] + 1 if token.map else 1
        before = tokens[at - 1]
        if token.type in ("list_item_open", "list_item_close"):
            depth += token.nesting
            items += depth == token.nesting  # an outermost one begins
        item = items if depth else 0
        if token.type in ("fence", "code_block"):
            if _MYST_WITHOUT_TEXT.fullmatch(token.info):
                continue
            if re.match(r"\{\w", token.info) and not _MYST_CODE.fullmatch(token.info):  # "{.py}" names a language
                inner = markdown_blocks(_OPTIONS.sub(lambda lines: "\n" * lines[0].count("\n"), token.content))
                blocks += [replace(block, line=(block.line or 1) + line) for block in inner]
            else:
                blocks.append(Block(token.content, "code", line=line + (token.type == "fence"), item=item))
        elif token.type == "html_block" and not re.match(r"(?i)\s*<(?:script|style)\b", token.content):
            blocks.append(Block(token.content, line=line))
        elif token.type == "table_open":
            rows, first = [], line
        elif token.type == "tr_open":
            rows.append([])
        elif token.type == "table_close":
            table = rows_text(rows)
            header = len(rows) - len(table.split("\n"))
            blocks.append(Block(table, "table", line=first + 1 + header, item=item))  # below the header and its rule
        elif token.type == "inline" and before.type in ("th_open", "td_open"):
            rows[-1].append(_shown(token.children or ()))
        elif token.type == "inline":
            fields = FIELDS.fullmatch(token.content) is not None
            inline_text = _shown(token.children or (), "\n" if fields else " ")
            inline_text = fields_parted(inline_text) if fields else inline_text
            if before.type == "heading_open":
                if not (web and FURNITURE.fullmatch(inline(inline_text))):
                    blocks.append(Block(inline_text, "heading", int(before.tag[1]), line=line))
            elif not (web and _is_furniture(token.children or (), inline_text)):
                blocks.append(Block(inline_text, line=line, item=item))
    return blocks


def _shown(children: "Sequence[Token]", line_end: str = " ") -> str:
    """Return what a reader sees of a line of tokens, for `inline`: code and text are escaped, tags are not."""
    return "".join(
        line_end
        if child.type in ("softbreak", "hardbreak")
        else html.escape(_NOTES.sub(lambda mark: mark[1] or mark[2] or mark[3] or "", child.content), quote=False)
        if child.type == "text"
        else html.escape(child.content, quote=False)
        if child.type == "code_inline"
        else child.content * (child.type != "image")
        for child in children
    )


def _is_furniture(children: "Sequence[Token]", paragraph: str) -> bool:
    """Return whether a paragraph of a web page is no part of its text: it consists of links, or is about cookies."""
    paragraph = inline(paragraph)
    linked, depth, links = "", 0, 0
    for child in children:
        depth += child.nesting if child.type in ("link_open", "link_close") else 0
        links += child.type == "link_open"
        linked += child.content if depth and child.type in ("text", "code_inline") else ""
    words = len(re.findall(r"\w", paragraph))
    share = len(re.findall(r"\w", linked)) / max(1, words)
    return (
        share > (0.9 if links < 3 else 0.7)
        or FURNITURE.fullmatch(paragraph) is not None
        or (len(paragraph) < 600 and all(pattern.search(paragraph) for pattern in COOKIES))
    )


def _flat(text: str) -> str:
    """Return Markdown without what site generators add to it, in as many lines; definitions become paragraphs."""
    lines, fence = text.split("\n"), ""
    for at, line in enumerate(lines):
        mark = re.match(r" *(```+|~~~+)", line)
        if mark and (not fence or (mark[1].startswith(fence) and not line.strip().strip("`~"))):
            fence = "" if fence else mark[1]
        elif not fence and (match := _ADMONITION.fullmatch(line)):
            lines[at] = f"{match[1]}{match[2]}:" if match[2] else ""
            _move_out(lines, at + 1, match[1])
        elif not fence and (match := _DEFINITION.fullmatch(line)):
            lines[at] = match[1] + match[2]
            blank = next((row for row in range(at + 1, len(lines)) if not lines[row].strip()), len(lines))
            _move_out(lines, blank, match[1])
            if at and re.match(r" *[^\s#].*\w *$", lines[at - 1]):
                lines[at - 1] = f"{lines[at - 1].rstrip()}:"
        elif not fence:
            if re.match(r"(?i) *<table\b", line):  # an empty line would end its HTML
                end = next((row for row in range(at, len(lines)) if "</table" in lines[row].lower()), at)
                lines[at:end] = [row if row.strip() else "<!-- -->" for row in lines[at:end]]
            line = _CALLOUT.sub(lambda note: note[1] + (f"{note[2]}:" if note[2] else ""), line)
            lines[at] = _ATTRIBUTES.sub(r"\1", _SHORTCODE.sub("", line))
    return "\n".join(lines)


def _move_out(lines: list[str], begin: int, indent: str) -> None:
    """Give the lines that are indented further this indent."""
    body = "\n".join(lines[begin : indented_end(lines, begin, len(indent))])
    if body:
        moved = [indent + line for line in dedent(body).split("\n")]
        lines[begin : begin + len(moved)] = moved


def indented_end(lines: Sequence[str], begin: int, indent: int) -> int:
    """Return where the lines end that are indented further."""
    end = begin
    for number in range(begin, len(lines)):
        if lines[number].strip():
            if len(lines[number]) - len(lines[number].lstrip()) <= indent:
                break
            end = number + 1
    return end
