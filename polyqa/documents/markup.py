"""Turns reStructuredText, with the directives and roles of Sphinx, and wiki markup into Markdown in as many lines."""

import csv
import re
from collections.abc import Sequence
from textwrap import dedent

from .markdown import indented_end

_FENCE = "~~~~~~"
_DIRECTIVE = re.compile(
    r"^( *)\.\.(?: |$)(?:([\w:-]+)::|(\[[^\]]+\]|_[^:\n]*:|\|[^|]+\| .*|(?!\S+::)[^_\[|\s].*|$))(.*)$"
)
_CODE = re.compile("code(-block)?|sourcecode|parsed-literal|math|productionlist|prompt|doctest|testcode|console")
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
_BORDER = re.compile(r" *(?:=+(?: +=+)+|\+(?:[-=]+\+)+) *")
_ADORNMENT = re.compile(r"([-=`:.'\"~^_*+#<>])\1{2,} *")
_ROLE = re.compile(r"(?<![\w`]):[\w:+-]+:`([^`]+)`|`([^`<]+?)\s*<[^`>]*>`__?|(?<!`)`([^`]+)`__?(?!\w)")
_REFERENCE = re.compile(r"(?<!\w)((?!_)\w*[^\W_]|\[[\w#*]+\])__?(?=[\s.,;:)!?]|$)", re.MULTILINE)
_NUMBER = re.compile(r"(?:#\.|\((?:\d+|#)\)) +(?=\S)")
_WIKI_HEADING = re.compile(r"^(={1,6}) *([^=\s](?:.*?\S)?) *=+\s*$", re.MULTILINE)


def markup_of(text: str) -> str:
    r"""Return the suffix of the markup of a plain text: ``.rst``, ``.md``, ``.wiki``, or ``.txt`` for none.

    >>> markup_of("Falcon\n======\n\n.. note::\n\n   It flies."), markup_of("Falcon\n\nIt flies.")
    ('.rst', '.txt')
    """
    if re.search(r"(?m)^ *\.\. (?:[\w:-]+::|_[^:\n]+:)", text) or len(re.findall(r":[\w:+-]+:`[^`]+`", text)) > 1:
        return ".rst"
    marked = len(re.findall(r"(?m)^#{1,4} \S", text)) > 1 and re.search(r"(?m)^```|\]\(\S+\)", text)
    if marked or re.search(r"(?:\A|\n\n)#{2,4} \S", text):  # one # alone may begin a comment
        return ".md"
    headings = len(_WIKI_HEADING.findall(text))
    return ".wiki" if headings > 1 or (headings and "[[" in text) else ".txt"


def rst_as_markdown(text: str) -> str:
    """Return reStructuredText as Markdown: directives that hold text are paragraphs, those that hold none are gone."""
    lines, at = text.split("\n"), 0
    styles: list[str] = []  # of the headings, from the outermost
    while at < len(lines):
        line, following = lines[at], lines[at + 1] if at + 1 < len(lines) else ""
        if match := _DIRECTIVE.match(line):
            at = _directive(lines, at, match)
        elif _BORDER.fullmatch(line):
            end = next((row for row in range(at, len(lines)) if not lines[row].strip()), len(lines))
            borders = [row for row in range(at, len(lines)) if _BORDER.fullmatch(lines[row])]
            if "+" not in line:  # an empty line may stand between the rows
                end = next((row + 1 for row in borders[1:] if not "".join(lines[row + 1 : row + 2]).strip()), end)
            lines[at:end] = _table(lines[at:end])
            at = end
        elif _ADORNMENT.fullmatch(line) and following.strip() and lines[at + 2 : at + 3] == [line]:
            lines[at : at + 3] = ["", _heading(following, line[0] * 2, styles), ""]
            at += 3
        elif line[:1].strip() and _ADORNMENT.fullmatch(following) and not _ADORNMENT.fullmatch(line):
            lines[at : at + 2] = [_heading(line, following[0], styles), ""]
            at += 2
        elif line.lstrip().startswith(">>>"):
            end = next((row for row in range(at, len(lines)) if not lines[row].strip()), len(lines))
            at = _fenced(lines, at, end, [line.strip() for line in lines[at:end]])
        elif line.rstrip().endswith("::"):
            begin = at + 1
            end = indented_end(lines, begin, len(line) - len(line.lstrip()))
            lines[at] = line.strip()[:-1].removesuffix(":").removesuffix(" ") + (":" if line.strip(" :") else "")
            at = _fenced(lines, begin + 1, end) if end > begin + 1 and not lines[begin].strip() else begin
        else:
            lines[at] = _NUMBER.sub("1. ", line.strip())
            deeper = len(following) - len(following.lstrip()) > len(line) - len(line.lstrip()) and following.strip()
            term = deeper and not (at and lines[at - 1].strip()) and not re.match(r"[-*+:|]|\d+\.|__? ", lines[at])
            if term and lines[at]:  # of a definition list
                lines[at] += "" if lines[at][-1] in ".:!?," else ":"
            at += 1
    parts = re.split(rf"(?ms)(^{_FENCE}$.*?^{_FENCE}$)", "\n".join(lines))
    return "".join(part if part.startswith(_FENCE) else _inline(part) for part in parts)


def _inline(text: str) -> str:
    without_roles = _ROLE.sub(_role_lines, text)
    return re.sub(r"(?m)^#", r"\\#", _REFERENCE.sub(r"\1", without_roles)).replace("\0", "#")


def _role_lines(match: re.Match[str]) -> str:
    """Return the text of a role in as many lines, none of them empty: that would end the paragraph."""
    text = " ".join(_role_text(match).split())
    lines = match[0].count("\n")
    return "\u200b\n" * (lines - text.count(" ")) + text.replace(" ", "\n", lines)


def _role_text(match: re.Match[str]) -> str:
    """Return what a role or reference shows: its text before its target, or the last part of a name after a tilde."""
    if match[1] is None:
        return str(match[2] or match[3])
    text, *target = re.split(r"\s*<", " ".join(match[1].split()))
    if target:
        return text
    if series := re.match(r":(pep|rfc):", match[0]):
        return f"{series[1].upper()} {text}"
    return text.rsplit(".", 1)[-1] if text.startswith("~") else text.lstrip("!")


def _heading(text: str, style: str, styles: list[str]) -> str:
    if style not in styles:
        styles.append(style)
    return "\0" * min(6, styles.index(style) + 1) + " " + text.strip()


def _fenced(lines: list[str], begin: int, end: int, code: Sequence[str] | None = None) -> int:
    """Put fences around lines, in place of the empty ones beside them if there are; return where the code ends."""
    body = code or dedent("\n".join(lines[begin:end])).split("\n")
    first = begin - 1 if begin and not lines[begin - 1].strip() else begin
    last = end + 1 if end < len(lines) and not lines[end].strip() else end
    lines[first:last] = [_FENCE, *body, _FENCE]
    return first + len(body) + 2


def _directive(lines: list[str], at: int, match: re.Match[str]) -> int:
    """Turn a directive, or another explicit markup, into Markdown; return where to go on."""
    indent, name, other, argument = match.groups()
    end = indented_end(lines, at + 1, len(indent))
    body = at + 1
    options: dict[str, str] = {}
    while name and body < end and _OPTION.match(lines[body]):
        _, key, value = lines[body].split(":", 2)
        options[key] = value.strip()
        lines[body] = ""
        body += 1
    if name and _CODE.fullmatch(name):
        lines[at] = ""
        while body < end and not lines[body].strip():
            body += 1
        return _fenced(lines, body, end) if body < end else end
    if name in ("csv-table", "list-table"):
        rows = _csv_rows(lines[body:end]) if name == "csv-table" else _listed_rows(lines[body:end])
        header = next(csv.reader([options["header"]], skipinitialspace=True)) if "header" in options else None
        has_header = header is not None or options.get("header-rows", "0") != "0"
        table = _pipes(([header] if header else []) + rows, named=has_header)
        lines[at] = argument.strip()
        lines[at + 1 : end] = ["", *table, *[""] * (end - at - 2 - len(table))]
        return max(end, at + 2 + len(table))
    if name is None and other.startswith("["):  # a footnote
        lines[at] = argument.strip()
    elif name is None or _holds_no_text(name, [line for line in lines[body:end] if line.strip()]):
        lines[at:end] = [""] * (end - at)
        return end
    else:
        lines[at] = _VERSIONS.get(name, "") + argument.strip()
    return at + 1


def _holds_no_text(name: str, body: Sequence[str]) -> bool:
    """Return whether a directive adds nothing to a text, or only what is made when its page is."""
    if len(body) == 1 and (inner := _DIRECTIVE.match(body[0])) and inner[2]:  # such as an empty tab
        return _holds_no_text(inner[2], [])
    return _WITHOUT_TEXT.fullmatch(name) is not None or ("-" in name and not body)


def _table(lines: Sequence[str]) -> list[str]:
    """Return a simple or a grid table as one of Markdown, in as many lines."""
    grid = "+" in lines[0]
    borders = [line for line in lines if _BORDER.fullmatch(line)]
    finest = max(borders, key=lambda border: border.count("+"))
    cuts = [match.start() for match in re.finditer(r"\+(?=.)" if grid else r"(?<!=)=", finest)]
    ends = [*cuts[1:], None]
    rows: list[list[str]] = []
    new, spans = True, False
    for line in lines[1:]:
        cells = [line[begin:end].strip(" |+" if grid else " ") for begin, end in zip(cuts, ends, strict=True)]
        if grid and line.count("|") == len(cuts) + 1:  # its bars may stand beside the borders'
            cells = [cell.strip() for cell in line.split("|")[1:-1]]
        ruled = [re.fullmatch(r"[-=+ ]*[-=][-=+ ]*", cell) is not None for cell in cells]
        cells = ["" if rule else cell for cell, rule in zip(cells, ruled, strict=True)]
        if any(cells) and (not rows or (new and not any(ruled)) or (not grid and cells[0])):
            spanned = rows[-1] if rows and spans else [""] * len(cells)
            rows.append([cell or above for cell, above in zip(cells, spanned, strict=True)])
        elif any(cells):
            rows[-1] = [f"{above} {cell}".strip() for above, cell in zip(rows[-1], cells, strict=True)]
        new, spans = any(ruled), grid and any(ruled) and not _BORDER.fullmatch(line)
    table = _pipes(rows, named="=" in "".join(borders) if grid else len(borders) > 2)
    return table + [""] * (len(lines) - len(table))


def _pipes(rows: Sequence[Sequence[str]], *, named: bool) -> list[str]:
    """Return rows as a table of Markdown; if they name no columns, under an empty header."""
    columns = max(map(len, rows), default=0)
    head = list(rows[0]) if named and rows else [""] * columns
    body = [head, ["---"] * columns, *rows[named:]]
    return ["| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |" for row in body] if rows else []


def _csv_rows(lines: Sequence[str]) -> list[list[str]]:
    return [row for row in csv.reader((line.strip() for line in lines if line.strip()), skipinitialspace=True) if row]


def _listed_rows(lines: Sequence[str]) -> list[list[str]]:
    rows: list[list[str]] = []
    for line in lines:
        match = re.match(r"\s*(\* +- ?|- )(.*)|\s*(\S.*)", line)
        if match and match[1]:
            if match[1].startswith("*"):
                rows.append([])
            if rows:
                rows[-1].append(match[2].strip())
        elif match and rows and rows[-1]:
            rows[-1][-1] += f" {match[3].strip()}"
    return rows


def wiki_as_markdown(text: str) -> str:
    r"""Return the markup of wikis that keep their pages as text, DokuWiki and Zim, as Markdown.

    >>> wiki_as_markdown("== Eyes ==\n* See [[Birds:Hawk|hawks]] and [[Birds:Owl]], //sharp//.")
    '## Eyes\n- See hawks and Owl, sharp.'
    """
    text = re.sub(r"\AContent-Type: text/x-zim-wiki\n(?:[\w-]+: .*\n)*", lambda head: "\n" * head[0].count("\n"), text)
    first = _WIKI_HEADING.search(text)
    falling = first is not None and len(first[1]) > 4  # DokuWiki's and Zim's outermost headings have the most signs
    lines, fenced = text.split("\n"), False
    for at, line in enumerate(lines):
        if line.strip() in ("'''", "{{{", "}}}", "<pre>", "</pre>") or re.fullmatch(r"</?(?:code|file)\b[^>]*>", line):
            lines[at], fenced = _FENCE, not fenced
        elif heading := None if fenced else _WIKI_HEADING.match(line):
            level = 7 - len(heading[1]) if falling else len(heading[1])
            lines[at] = f"{'#' * level} {heading[2]}"
        elif not fenced:
            lines[at] = _wiki_line(line.strip())
    return "\n".join(lines)


def _wiki_line(line: str) -> str:
    line = re.sub(r"^(?:[*#]+ +|[*#](?![*#])|[*#]{2,}(?!.*\*\*)|\[[ *x>]?\] )", "- ", line)
    line = re.sub(r"\[\[(?:[^\]|]*\||(?!\w+://)[^\]|]*:)?\s*([^\]|]*?)\s*\]\]", r"\1", line)
    line = re.sub(r"\{\{[^{}]*\}\}", "", line)
    line = re.sub(r"'''(\S.*?)'''", r"\1", line)
    line = re.sub(r"''(\S.*?)''", r"`\1`", line)
    return re.sub(r"(?<![:/])//(\S(?:.*?\S)?)//(?!/)", r"\1", line)
