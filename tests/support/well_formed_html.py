"""Reads HTML strictly: what is open is closed again, in order."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

_TEXT = {"a", "b", "details", "div", "li", "mark", "p", "span", "style", "summary", "ul"}
ALLOWED = frozenset({*_TEXT, "br", "table", "tbody", "td", "th", "thead", "tr"})
"""What polyqa makes; anything else comes from a stranger's text."""
ATTRIBUTES = frozenset({"class", "href", "id"})
PAGE = ALLOWED | {"body", "h1", "h2", "h3", "main"}
"""What a whole page has, without the drawings in it."""
PAGE_ATTRIBUTES = frozenset({"aria-label", "class", "role"})


@dataclass
class Element:
    """An element that was read: its name, its attributes, and all the text in it."""

    name: str
    attributes: dict[str, str | None]
    text: str = ""


@dataclass
class Page(HTMLParser):
    """HTML as it was read."""

    elements: list[Element] = field(default_factory=list)
    text: str = ""
    allowed: frozenset[str] = ALLOWED
    known: frozenset[str] = ATTRIBUTES

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._open: list[Element] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in self.allowed, tag
        assert {name for name, _ in attrs} <= self.known, attrs
        self.elements.append(Element(tag, dict(attrs)))
        if tag != "br":  # which has no end
            self._open.append(self.elements[-1])

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop().name == tag

    def handle_data(self, data: str) -> None:
        if not (self._open and self._open[-1].name == "style"):
            self.text += data
        for element in self._open:
            element.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data!r}")

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(f"a declaration: {decl!r}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"an instruction: {data!r}")

    def named(self, name: str) -> list[Element]:
        """Return the elements of a name, in order."""
        return [element for element in self.elements if element.name == name]


def read_html(html: str, *, whole: bool = False) -> Page:
    """Return HTML as a strict reader sees it; an `AssertionError` tells what is wrong.

    Parameters
    ----------
    whole
        Whether it is the body of a page; else what a notebook shows.
    """
    page = Page(allowed=PAGE, known=PAGE_ATTRIBUTES) if whole else Page()
    page.feed(html)
    page.close()
    assert not page._open, f"left open: {[element.name for element in page._open]}"
    html.encode()
    return page
