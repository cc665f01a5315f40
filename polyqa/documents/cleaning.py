"""Removes from converted files what is no part of their text: running headers, navigation, tags, hyphens."""

import html
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from textwrap import dedent

from .blocks import Block

_LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\([^()\s]*(?:\([^()]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)")
_TAG = re.compile(
    r"</?(?:a|abbr|b|br|button|center|cite|code|del|details|div|em|figcaption|figure|font|h[1-6]|hr|i|iframe|img|input|ins|"
    r"kbd|li|mark|ol|p|picture|pre|q|s|samp|script|small|source|span|strong|style|sub|summary|sup|svg|table|tbody|td|th|"
    r"thead|tr|tt|u|ul|var|video)(?:\s[^<>]*)?/?>|<!--.*?-->",
    re.IGNORECASE | re.DOTALL,
)
_PICTURE = re.compile(r"!\[[^\[\]]*\]\([^()]*\)|\[image(?:: [^\]]*)?\]")
LESS_THAN = "\ufdd0"  # which is no character
"""Stands for the sign where a web page shows it: in kreuzberg's Markdown that looks like the beginning of a tag."""
_HYPHEN = re.compile(r"(?<=[a-zäöüßéèáóñç])(?:-\n\s*|\u00ad\s*)(?=[a-zäöüßéèáóñç])")
_LIGATURES = str.maketrans({0x1B: "ff", 0x1C: "fi", 0x1D: "fl", 0x1E: "ffi", 0x1F: "ffl"})
"""What a PDF of TeX has for them, by the encoding of its fonts (T1)."""
_INVISIBLE = re.compile(r"[\u00ad\u200b\u2060\ufeff\x00-\x08\x0b\x0e-\x1f\x7f]")
_UNBROKEN = re.compile(r"[!-~]{300,}")
"""Encoded data, such as base64; no text has such words."""
_LEADERS = re.compile(
    r"(?<![.…])(?<![.…] )(?:(?:(?:\. ?){4,}+|(?:… ?){2,}+)\s*(?:[\w-]*\d|[ivxlc]+)[ \t]*|(?:\. ?){8,}+)$",
    re.MULTILINE | re.IGNORECASE,
)
"""What a line of a table of contents ends with; of a sentence, dots stand for what is left out."""
_NUMBER_BEFORE = re.compile(r"\W*(?:page\s*)?(\d{1,4})\b", re.IGNORECASE)
_NUMBER_BEHIND = re.compile(r"\b(\d{1,4})\W*$")
_NUMBERED = re.compile(r"^\W*(?:page\s*)?\d{1,4}\b\s*(?:of|/)?\s*|\s*\b\d{1,4}\W*$", re.IGNORECASE)
_ROMAN = re.compile(r"[ivxlc]+", re.IGNORECASE)
_SECTION_NUMBER = re.compile(r"(?:\d+|[A-Z](?=\.\d))(?:\.\d+)*(?=\.?\s+\S)")
_DATE = re.compile(r"\w+\.? \d{1,2}(?:st|nd|rd|th)?,? \d{4}|\d{1,2}(?:st|nd|rd|th|\.)? \w+\.?,? \d{4}")
_EDGE = 2  # blocks, or lines, at the top and the bottom of a page that may be running ones
_LONGEST_RUNNING = 150  # characters
_LEAST_PAGES = 3
_TITLE_WITHIN = 12  # paragraphs from the beginning
FURNITURE = re.compile(
    r"(?:skip to (?:main )?content|table of contents|on this page|navigation|search|quick search|menu|toggle .{0,40}|"
    r"(?:«|»|<-|->|←|→|\W)*\s*(?:(?:previous|next|prev|up)(?: (?:topic|page|chapter))?(?:: .{0,80}|\W*)|"
    r"(?:home|top|contents|index)(?: (?:page|chapter))?\W*)|"
    r"edit (?:this page|on github|on gitlab).*|view (?:page )?source|show source|this page|back to top|"
    r"(?:(?:built|created|made) (?:with|using)|powered by) (?-i:[A-Z❤♥]).{0,80}|"
    r"sign in|log in|subscribe|share this.*|"
    r"(?:©|(?:copyright|\(c\))(?=.{0,40}(?:©|\b(?:19|20)\d\d\b|all rights))).{0,120}|"
    r"all rights reserved.{0,40}|last updated.{0,60}|page last modified.{0,60})",
    re.IGNORECASE,
)
"""What a paragraph of a web page consists of that is no part of its text."""
COOKIES = (
    re.compile(r"\bcookies?\b", re.IGNORECASE),
    re.compile(
        r"\b(?:accept|consent|agree|we use cookies|this (?:web)?site uses|preferences|privacy policy)\b", re.IGNORECASE
    ),
)
_HEADING_LINE = re.compile(
    r"(\d{1,2}(?:\.\d+)*)\.?\s+(?:[A-Z]|\d+[a-z]+ [A-Z])[^.!?]{1,70}|[A-Z][A-Z0-9 ,:&/'’()-]{3,60}|"
    r"Appendix [A-Z]\b[^!?]{0,70}"
)
_STAMP = re.compile(r"\s*\W?(?:\d{1,4}[./-]\d{1,2}[./-]\d{1,4}[,T ]\s*)?\d{1,2}[:.]\d\d(?::\d\d)?(?![\d.:])\W*\w")
_FLUSH_HEADING = re.compile(r"[A-Z][\w ,'’()/-]{2,60}")
_TITLE_LINE = re.compile(r"(?![a-z])[\w(“\"][\w ,'’()/&“”\"–-]{1,58}[\w)”\"]")
_TITLE_WORDS = 8
LOWEST = 9  # level of a heading
_LONGEST_HEADING = 180  # characters
_LARGER = 1.05  # than the body's type is what is set larger than it
_PAGE_END = re.compile(r"(?m)(\[Page \d+\][ \t]*)\n")  # of an RFC


def inline(text: str) -> str:
    """Return a text without the markup of links, pictures and tags, in one line.

    >>> inline('See [the <b>guide</b>](guide.html "Guide"), ![logo](x.png) Falcon¶')
    'See the guide, Falcon'
    """
    if "[" in text:
        text = _LINK.sub(r"\1", _PICTURE.sub("", text))
    if "<" in text:
        text = re.sub(r"\s+([,.;:!?)])", r"\1", _TAG.sub(" ", text))
    text = html.unescape(text).replace(LESS_THAN, "<")
    return " ".join(_UNBROKEN.sub("", _INVISIBLE.sub("", text)).replace("¶", "").split())


def literal(text: str) -> str:
    """Return a text that stands for itself so that `inline` takes nothing in it for a tag.

    >>> inline(literal("copy <source> <target>")), inline("copy <source> <target>")
    ('copy <source> <target>', 'copy <target>')
    """
    return text.replace("<", "&lt;")


def cleaned(blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks with clean texts, without empty ones, a paragraph that a page break cut as one."""
    result: list[Block] = []
    for block in blocks:
        if block.kind == "code":
            text = dedent(_UNBROKEN.sub("", _INVISIBLE.sub("", block.text).replace("\f", "\n").replace(LESS_THAN, "<")))
            text = re.sub(r"\n\s*\n", "\n", text).strip("\n")
        elif block.kind == "table":
            text = "\n".join(filter(None, map(inline, block.text.splitlines())))
        else:
            text = inline(_HYPHEN.sub("", block.text))
            if block.kind == "heading":
                text = _LEADERS.sub("", text).strip(" #*_")
            elif _LEADERS.search(text) and len(_LEADERS.sub("", text)) < 200:
                continue
        if not re.search(r"\w", text):
            continue
        last = result[-1] if result else None
        if last is not None and _goes_on(last, block, text):
            cut = re.search(r"[a-z]-$", last.text)
            joined = f"{last.text[:-1]}{text}" if cut else f"{last.text} {text}"
            result[-1] = replace(last, text=joined)
        else:
            result.append(replace(block, text=text))
    return [replace(one, text=_ended(one.text)) if one.kind == "text" else one for one in result]


def _ended(text: str) -> str:
    """Return a paragraph or list item with an end: in a line of text it would run into the next one."""
    return f"{text}." if re.search(r"[\w)\]}\"'”’%>*/]$", text) else text


def _goes_on(last: Block, block: Block, text: str) -> bool:
    """Return whether a paragraph goes on with the first text of the next page."""
    return (
        last.kind == block.kind == "text"
        and last.page is not None
        and block.page == last.page + 1
        and text[0].islower()
        and last.text[-1] not in ".!?:;"
    )


def printed_blocks(blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks of a PDF without running headers, footers and tables of contents.

    A text at the top or bottom of several pages is a running one, and so is a page's number with what stands beside it.
    What is set larger than the body is none of these unless it stands on several pages; if it is as large as a heading,
    it is one. Headings with numbers get their level from these, others the level of numbered ones of their size.
    """
    blocks = [replace(block, text=block.text.translate(_LIGATURES)) for block in blocks]
    body = _body_size(blocks)
    texts = ["", *(block.text for block in blocks), ""]
    mended = [_heading_mended(texts[at], block, texts[at + 2], body) for at, block in enumerate(blocks)]
    blocks = _levelled(_without_contents(mended), body)
    pages: dict[int, list[int]] = {}
    for at, block in enumerate(blocks):
        pages.setdefault(block.page or 0, []).append(at)
    edges = {
        at: page
        for page, places in pages.items()
        for at in {*places[:_EDGE], *places[-_EDGE:]}
        if len(blocks[at].text) < _LONGEST_RUNNING
    }
    large = {at for at in edges if _is_large(blocks[at], body)}
    running = running_texts([(page, blocks[at].text) for at, page in edges.items() if at not in large])
    repeated = Counter(blocks[at].text for at in large)
    running |= {(edges[at], blocks[at].text) for at in large if repeated[blocks[at].text] >= _LEAST_PAGES}
    return [block for at, block in enumerate(blocks) if at not in edges or (edges[at], block.text) not in running]


def _body_size(blocks: Sequence[Block]) -> float:
    """Return the size of type in which a PDF is set: the smallest of which there is much; 0 if too little tells it.

    Only that of single lines is exact; that of several depends on what stands between them.
    """
    sizes: Counter[float] = Counter()
    for block in blocks:
        if block.size and "\n" not in block.text:
            sizes[round(block.size * 2) / 2] += len(block.text)
    if sizes.total() < sum(len(block.text) for block in blocks) * 0.03:
        return 0
    return min((size for size, letters in sizes.items() if letters * 5 > sizes.total()), default=0)


def _is_large(block: Block, body: float) -> bool:
    return block.size > body * _LARGER > 0


def _levelled(blocks: Sequence[Block], body: float) -> list[Block]:
    """Give headings of the same size of type the same level, and make headings of what is set like them.

    Of those that open a document and have no number, the first is its title, what stands between it and the last are
    names and dates.
    """
    levels: dict[float, int] = {}
    for numbered in (False, True):
        for block in blocks:
            if block.kind == "heading" and _is_large(block, body) and numbered == _is_numbered(block):
                levels[block.size] = block.level
    longest = max((len(line) for block in blocks for line in block.text.split("\n")), default=0)
    result = []
    for before, block, after in zip([Block(""), *blocks], blocks, [*blocks[1:], Block("")], strict=False):
        near = min(levels, key=lambda size: abs(size - block.size), default=0)
        if _is_large(block, body) and _is_same(block.size, near) and not _is_numbered(block):
            alone = not _is_same(before.size, near) and not _is_same(after.size, near)
            if block.kind == "text" and alone and _is_set_as_heading(block, longest, body):
                block = _heading_mended(before.text, replace(block, kind="heading"), after.text, body)
            if block.kind == "heading":
                block = replace(block, level=levels[near])
        result.append(block)
    end = next((at for at, block in enumerate(result) if block.kind != "heading"), len(result))
    return [
        replace(block, kind="text") if 0 < at < end - 1 and not _is_numbered(block) else block
        for at, block in enumerate(result)
    ]


def _is_numbered(block: Block) -> bool:
    return _SECTION_NUMBER.match(block.text) is not None


def _is_same(size: float, other: float) -> bool:
    return abs(size - other) < other * 0.03


def _is_set_as_heading(block: Block, longest: int, body: float) -> bool:
    """Return whether a large text is a heading: no sentence, and in several lines only as it is as wide as the page."""
    *lines, _ = block.text.split("\n")
    wide = not lines or (block.size > body * 1.15 and min(map(len, lines)) > longest / 2)
    return wide and re.match(r"\w.*[^.,:;]\Z", block.text, re.DOTALL) is not None


def bold_headings(blocks: Sequence[Block]) -> list[Block]:
    """Make texts of the lowest headings, which are lines in bold type, that read like none or have no text below them.

    >>> bold = [Block(text, "heading", LOWEST) for text in ("Wings", "Mind the claws!")]
    >>> [block.kind for block in bold_headings([bold[0], Block("They are long."), bold[1], Block("They bite.")])]
    ['heading', 'text', 'text', 'text']
    """
    blocks = [block for block in blocks if block.text.strip()]
    return [
        replace(block, kind="text", level=0)
        if block.level == LOWEST and (after.kind == "heading" or not _is_title(block.text))
        else block
        for block, after in zip(blocks, [*blocks[1:], Block("", "heading")], strict=True)
    ]


def _is_title(text: str) -> bool:
    text = " ".join(text.split()).rstrip("?")
    return _TITLE_LINE.fullmatch(text) is not None and len(text.split()) <= _TITLE_WORDS


def page_blocks(text: str, page: int) -> list[Block]:
    """Return the blocks of a page of which only the lines are known; the outermost lines may be running ones."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    longest = max(map(len, lines), default=0)
    blocks: list[Block] = []
    paragraph: list[str] = []
    for at, line in enumerate(lines):
        alone = not _EDGE <= at < len(lines) - _EDGE and len(line) < longest * 0.7
        heading = _HEADING_LINE.fullmatch(line) is not None and not re.search(r" \d+$", line)  # a contents line
        if paragraph and (alone or heading):
            blocks.append(Block("\n".join(paragraph), page=page))
            paragraph = []
        if heading:
            blocks.append(Block(line, "heading", 2, page=page))
            continue
        paragraph.append(line)
        if alone or (line[-1] in ".!?:" and len(line) < longest * 0.8):
            blocks.append(Block("\n".join(paragraph), page=page))
            paragraph = []
    return [*blocks, *([Block("\n".join(paragraph), page=page)] if paragraph else [])]


def _heading_mended(before: str, block: Block, following: str, body: float) -> Block:
    """Return a heading with the level that its number tells, or as text if it is a formula or part of a sentence."""
    if block.kind != "heading":
        return block
    text = " ".join(block.text.split())
    large = _is_large(block, body)
    sentence = text[-1:] != "?" and (
        (text[-1:] == "." and text.count(" ") > 3) or re.match(r"[a-zà-ÿ]{2,} ", following)
    )
    named = re.sub(r"(?<=[^\W\d_]): ", " ", text)  # "Owls: birds of the night", not "Figure 1: an owl"
    title = not body or (text[0].isupper() and _is_title(named)) or _HEADING_LINE.fullmatch(text)
    goes_on = re.match(r"[^\w\"“(]|[a-z]", text) and re.search(r"[^.!?:)\"”]\s*\Z", before)
    if not _is_heading_text(block) or goes_on or (not large and (sentence or not title)):
        return replace(block, kind="text")
    number = _SECTION_NUMBER.match(text)
    return replace(block, level=number[0].count(".") + 1) if number else block


def _is_heading_text(block: Block) -> bool:
    """Return whether a text consists of words, not of letters; three lines of which one is short are an address."""
    lines = block.text.split("\n")
    text = " ".join(block.text.split())
    ragged = len(lines) > 2 and min(map(len, lines[:-1])) < max(map(len, lines)) * 0.7
    words = re.findall(r"[^\W\d_]+" if _is_numbered(block) else r"[^\W\d_]{3,}", text)
    letters = sum(map(len, words)) * 2 > len(text.replace(" ", ""))
    fits = len(text) <= _LONGEST_HEADING and not text.endswith((",", "=", "("))
    return letters and not ragged and fits and _DATE.fullmatch(text) is None


def _without_contents(blocks: Sequence[Block]) -> list[Block]:
    """Drop the tables of contents: the short blocks of pages on which several have dot leaders, from the first such."""
    leaders: Counter[int | None] = Counter()
    for block in blocks:
        leaders[block.page] += len(_LEADERS.findall(block.text))
    kept: list[Block] = []
    begun: set[int | None] = set()
    for block in blocks:
        of_contents = _LEADERS.search(block.text) is not None
        if leaders[block.page] >= _LEAST_PAGES and of_contents:
            begun.add(block.page)
        if block.page not in begun or not (of_contents or len(block.text) < 100):
            kept.append(block)
    return kept


def running_texts(edges: Sequence[tuple[int, str]]) -> set[tuple[int, str]]:
    """Return those of the texts at the edges of pages that are running headers and footers, with their pages.

    These are texts that stand on three pages, Roman numbers, and numbers that go with the pages: alone, behind a text,
    or before one, unless that may be a numbered heading because the page has its number elsewhere.

    >>> sorted(running_texts([(4, "2 Wings"), (5, "Falcons 3"), (6, "4 Wings"), (6, "4 wings and a tail")]))
    [(4, '2 Wings'), (5, 'Falcons 3'), (6, '4 Wings')]
    """
    texts = {(page, text): _NUMBERED.sub("", text.strip()).casefold() for page, text in edges}
    pages: dict[str, set[int]] = {}
    for (page, _), text in texts.items():
        pages.setdefault(text, set()).add(page)
    numbers: dict[tuple[int, str], set[int]] = {}
    doubtful: dict[tuple[int, str], int] = {}
    for page, text in edges:
        behind, before = _NUMBER_BEHIND.search(text.strip()), _NUMBER_BEFORE.match(text.strip())
        numbers[page, text] = {page - int(behind[1])} if behind else set()
        if before and (not texts[page, text] or len(pages[texts[page, text]]) > 1):
            numbers[page, text].add(page - int(before[1]))
        elif before:
            doubtful[page, text] = page - int(before[1])
    offsets = Counter(offset for each in numbers.values() for offset in each)
    likely = {offset for offset, times in offsets.items() if times >= _LEAST_PAGES}
    with_number = {page for (page, _), each in numbers.items() if each & likely}
    for (page, text), offset in doubtful.items():
        if page not in with_number:  # a page has one number: what stands beside another one is a heading
            numbers[page, text].add(offset)
    exact = Counter(text for text, _ in {(text, page) for page, text in edges})
    return {
        (page, text)
        for page, text in edges
        if numbers[page, text] & likely or exact[text] >= _LEAST_PAGES or _ROMAN.fullmatch(text.strip())
    }


def plain_blocks(text: str) -> list[Block]:
    """Return the paragraphs of a plain text with their lines, and pages if it has form feeds.

    Lines that stand alone are headings if they are numbered, in capitals, or underlined.
    """
    text = text if "\f" in text else _PAGE_END.sub("\\1\n\f", text)
    pages = [list(_paragraphs(page.split("\n"))) for page in text.split("\f")]
    running = running_texts([(number, line) for number, page in enumerate(pages, 1) for line in _edge_lines(page)])
    indented = Counter(lines[-1].startswith("  ") for page in pages for _, lines in page if len(lines) > 1)
    flush = indented[True] > 2 * indented[False]  # then a line that is not indented is a heading
    title = _centred(pages[0][:_TITLE_WITHIN]) if flush else ""
    blocks: list[Block] = [Block(title, "heading", 1, line=1)] if title else []
    first = 1
    for number, (page, paragraphs) in enumerate(zip(text.split("\f"), pages, strict=True), 1):
        edge = _edge_lines(paragraphs) if len(pages) >= _LEAST_PAGES else []
        for at, lines in paragraphs:
            if lines[0] not in edge or (number, lines[0]) not in running:
                place = {"page": number} if len(pages) > 1 else {"line": first + at}
                heading = flush and len(lines) == 1 and _FLUSH_HEADING.fullmatch(lines[0].rstrip())
                blocks.extend([Block(lines[0], "heading", 1, **place)] if heading else _plain_block(lines, place))
        first += page.count("\n")
    return cleaned([block if block.kind == "code" else replace(block, text=literal(block.text)) for block in blocks])


def titled(blocks: list[Block], text: str) -> list[Block]:
    r"""Return the blocks of a plain text, the first line as a heading if it stands alone and reads like a title.

    >>> text = "Office in Leuven\n\nThe office opened in 2018."
    >>> [block.kind for block in titled(plain_blocks(text), text)]
    ['heading', 'text']
    >>> text = "It rained.\n\nWe met at 9."
    >>> [block.kind for block in titled(plain_blocks(text), text)]
    ['text', 'text']
    """
    line = text.strip().partition("\n")[0].strip()
    if len(blocks) < 2 or blocks[0].kind != "text" or blocks[0].text.removesuffix(".") != line:
        return blocks
    return [replace(blocks[0], text=line, kind="heading", level=1), *blocks[1:]] if _is_title(line) else blocks


def _centred(paragraphs: Sequence[tuple[int, list[str]]]) -> str:
    """Return the title of a typewritten text: what stands in the middle of the lines before its first heading."""
    title = ""
    for _, lines in paragraphs:
        if len(lines) == 1 and _FLUSH_HEADING.fullmatch(lines[0].rstrip()):
            break
        if len(lines) <= 3 and all(re.match(r" {8,}\S(?!.* {3})", line) for line in lines):
            title = " ".join(" ".join(lines).split())
    return title


def _edge_lines(page: Sequence[tuple[int, list[str]]]) -> list[str]:
    """Return the lines that stand alone at the top and the bottom of a page."""
    return [
        lines[0] for _, lines in [*page[:_EDGE], *page[-_EDGE:]] if len(lines) == 1 and len(lines[0]) < _LONGEST_RUNNING
    ]


def _paragraphs(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield paragraphs with their places; in chats and logs each line that begins with a time begins one."""
    stamped = [_STAMP.match(line) is not None for line in lines]
    apart = 2 * sum(stamped) > sum(bool(line.strip()) for line in lines)
    paragraph: list[str] = []
    for at, line in enumerate([*lines, ""]):
        if paragraph and (not line.strip() or (apart and stamped[at])):
            yield at - len(paragraph), paragraph
            paragraph = []
        if line.strip():
            paragraph.append(line)


def _plain_block(lines: Sequence[str], place: dict[str, int]) -> Iterator[Block]:
    first = lines[0].strip()
    underline = lines[1].strip() if len(lines) > 1 else ""
    underlined = re.fullmatch(r"([=\-~*^#])\1{2,}", underline) is not None and len(underline) * 2 > len(first)
    underlined = underlined and re.search(r"\S {3}", first) is None
    if underlined:
        yield Block(first, "heading", 1 if lines[1].strip()[0] in "=#*" else 2, **place)
        lines = lines[2:]
        if "line" in place:
            place = {"line": place["line"] + 2}
    elif len(lines) == 1 and (match := _HEADING_LINE.fullmatch(first)) and not re.search(r"^ {4}|\S {3}", lines[0]):
        yield Block(first, "heading", match[1].count(".") + 1 if match[1] else 1, **place)
        return
    if lines:
        ragged = sum(1 for line in lines if re.search(r"\S {3,}\S|[|+]|-{3,}", line))
        drawn = len(lines) > 1 and ragged * 2 > len(lines)  # a table or a drawing, whose lines mean something
        yield Block("\n".join(lines), "code" if drawn else "text", **place)
