"""HTML and Markdown of anybody's texts: what they hold is shown, and nothing of it acts."""

import re
from pathlib import Path

import pytest
from attack_texts import ATTACKS
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError
from markdown_it import MarkdownIt
from well_formed_html import read_html

import polyqa
from polyqa.base import html
from polyqa.base.html import markdown, plain, render, shortened

# Pieces of which markup is made, among other texts.
TEXTS = st.lists(st.sampled_from([*ATTACKS.values(), *"<>&\"'`*_[]()!|\\-+=#~$1. \n\t", "--", "&lt;"])).map("".join)
ANY = st.one_of(TEXTS, st.text())


def filled(kind: str, call: str, **values: str) -> str:
    """Return what a macro of the templates shows."""
    name = call.partition("(")[0]
    text = f"{{% from 'macros{kind}' import {name} %}}{{{{ {call} }}}}"
    return html._environment(kind).from_string(text).render(values)


@given(ANY, ANY)
def test_any_text_is_shown_in_html(text: str, other: str) -> None:
    page = read_html(filled(".html", "facts({text: other})", text=text, other=other))
    assert [element.name for element in page.elements] == ["table", "tbody", "tr", "td", "b", "td"]
    assert [cell.text.split() for cell in page.named("td")] == [plain(text).split(), plain(other).split()]


@given(ANY)
def test_any_text_is_shown_in_markdown(text: str) -> None:
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(f"{markdown(text)}\n\nend\n")
    assert [token.type for token in tokens].count("paragraph_open") == (2 if plain(text) else 1)
    assert {token.type for token in tokens} == {"paragraph_open", "inline", "paragraph_close"}
    inner = tokens[1].children or []
    assert {child.type for child in inner} <= {"text", "text_special"}
    if plain(text):
        assert "".join(child.content for child in inner) == plain(text)


@given(ANY, ANY)
def test_any_text_keeps_to_its_cell_in_markdown(name: str, value: str) -> None:
    shown = filled(".md", "table(['', ''], {name: value}.items())", name=name, value=value)
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(shown)
    cells = ["thead", "tr", "th", "th", "tbody", "tr", "td", "td"]
    assert [token.tag for token in tokens if token.nesting == 1] == ["table", *cells]


def test_markup_is_written_in_templates_only() -> None:
    package = Path(polyqa.__file__).parent
    rooms = [package, *(path for path in package.iterdir() if path.is_symlink())]
    paths = [path for room in rooms for path in room.resolve().rglob("*.py")]
    assert len(paths) > 200
    tags = re.compile(r"</(?:div|p|table|tr|td|li|ul|span|svg|b|a|details)>")
    written = {path.name for path in paths if tags.search(re.sub(r"(?s)>>>.*?\"\"\"", "", path.read_text("utf-8")))}
    assert written == set()


def test_a_value_that_a_template_lacks_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="card"):
        render("readme.md", facts={})


@given(ANY, st.integers(1, 50))
def test_what_is_shortened_is_no_longer_than_wanted(text: str, most: int) -> None:
    told = shortened(text, most)
    assert len(told) <= most
    assert told == plain(text) or told.endswith("…")


@pytest.mark.parametrize("text", ["-0.9", "46.1 [41.9, 50.2]", "1997 film", "(a)", "AT&T", "a + b", "C#"])
def test_what_is_no_markup_is_left_readable(text: str) -> None:
    assert markdown(text).replace("\\[", "[").replace("\\]", "]") == text
