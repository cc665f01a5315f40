import pytest

from polyqa.documents.blocks import Block
from polyqa.documents.cleaning import cleaned, plain_blocks, printed_blocks, web_blocks
from polyqa.documents.markup import flat_markdown, flat_rst, front_matter, markup_of


def texts(blocks: list[Block]) -> list[str]:
    return [block.text for block in blocks]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a bro-\nken word", "a broken word"),
        ("a well-\nKnown name", "a well- Known name"),
        ("soft\u00adhyphen and\u200b zero width", "softhyphen and zero width"),
        ("page\fbreak", "page break"),
        ("<p>Tags <b>go</b></p>, but <name> stays", "Tags go, but <name> stays"),
        ("AT&amp;T [link](https://x.org/a_(b)) ![picture](p.png)", "AT&T link"),
        (f"data {'Ab9/' * 200} end", "data end"),
        ("1.2 Wings . . . . . . . . 7", None),
        ("***", None),
    ],
)
def test_a_text_is_cleaned(text: str, expected: str | None) -> None:
    assert texts(cleaned([Block(text)])) == ([expected] if expected else [])


def test_a_paragraph_goes_on_after_a_page_break() -> None:
    blocks = [Block("It flies over the", page=1), Block("northern sea.", page=2), Block("New one.", page=3)]
    assert cleaned(blocks) == [Block("It flies over the northern sea.", page=1), Block("New one.", page=3)]
    assert texts(cleaned([Block("a fal-", page=1), Block("con flies", page=2)])) == ["a falcon flies"]


def test_running_lines_of_a_print() -> None:
    blocks = [
        block
        for page in range(1, 7)
        for block in (
            Block("The Falcon Book", page=page),
            Block(f"{page + 10} {'Wings' if page % 2 else 'Eyes and ears'}", "heading", 2, page=page),
            Block(f"Falcons of kind {'abcdefg'[page]} fly.", page=page),
            Block(f"In {1990 + page * page} they were seen.", page=page),
            Block("xiv", page=page),
        )
    ]
    assert len(printed_blocks(blocks)) == 12
    assert {block.kind for block in printed_blocks(blocks)} == {"text"}


def test_headings_of_a_print() -> None:
    contents = [Block(f"{number} Wing" + " ." * 20 + f" {number}", "heading", 2, page=1) for number in range(1, 6)]
    blocks = [
        *contents,
        Block("3.1.2 Feathers", "heading", 2, page=2),
        Block("This sentence is only set in bold.", "heading", 1, page=2),
    ]
    assert [(block.text, block.kind, block.level) for block in printed_blocks(blocks)] == [
        ("3.1.2 Feathers", "heading", 3),
        ("This sentence is only set in bold.", "text", 1),
    ]


def test_what_a_web_page_has_around_its_text() -> None:
    furniture = [
        "- [Home](/)",
        "[<-previous](a.html)[next->](b.html)",
        "Skip to content",
        "« Previous",
        "Built with Sphinx using a theme.",
        "© 2024 Falcon Inc.",
        "This site uses cookies. Accept all",
    ]
    kept = ["A cookie is a small cake that falcons do not eat.", "See [the guide](g.html) for all the other birds."]
    assert texts(web_blocks([Block(text) for text in [*furniture, *kept]])) == kept
    assert texts(web_blocks([Block("**Bold**, `code`, allow\\_mx, 2 * 3 * 4")])) == ["Bold, code, allow_mx, 2 * 3 * 4"]


def test_a_plain_text_has_headings_lines_and_drawings() -> None:
    text = "FALCON NOTES\n\nIt flies\nfast.\n\n2.1  Nests\n\n+--+--+\n| a| b|\n+--+--+\n\nEyes\n----\nSharp."
    assert [(block.kind, block.level, block.line) for block in plain_blocks(text)] == [
        ("heading", 1, 1),
        ("text", 0, 3),
        ("heading", 2, 6),
        ("code", 0, 8),
        ("heading", 2, 12),
        ("text", 0, 14),
    ]


@pytest.mark.parametrize(
    ("rst", "expected"),
    [
        (".. note:: Mind the\n   gap.\n\n   More.", "Mind the gap.\n\nMore."),
        (".. toctree::\n   :maxdepth: 2\n\n   a\n   b\n\nText", "Text"),
        (".. comment\n   goes on\n\n.. _label:\n\nText", "Text"),
        (".. method:: save(x)\n   :async:\n\n   Saves.", "save(x)\n\nSaves."),
        ("Two\nlines::\n\n   .. note:: kept\n\nText", "Two\nlines:\n\n.. code-block::\n\n   .. note:: kept\n\nText"),
        (".. versionadded:: 2.0", "New in version 2.0"),
        ("See :ref:`the\nguide <g>` of :func:`~a.b.c`.", "See the guide of c."),
        ("- item\n  goes on\n- next", "- item goes on\n- next"),
    ],
)  # fmt: skip
def test_directives_of_sphinx(rst: str, expected: str) -> None:
    lines = [line for line in flat_rst(rst).split("\n") if line.strip()]
    assert lines == [line for line in expected.split("\n") if line.strip()]


def test_a_table_that_the_converter_cannot_read_is_kept_as_it_is() -> None:
    flat = flat_rst("====  ====\nö     b\n====  ====\n1     2\n====  ====\n")
    assert flat.startswith(".. code-block::\n\n   ====  ====\n   ö     b")
    assert flat_rst("==  ==\na   b\n==  ==\n1   2\n==  ==\n").startswith("==  ==")


def test_front_matter_and_admonitions_of_markdown() -> None:
    assert front_matter("---\na: 1\nb: [x, {y: 1}]\nline: 3\nc:\n---\nText") == ({"a": 1}, "Text")
    assert front_matter("---\n- a\n---\nText")[0] == front_matter("---\na: [\n---\nText")[0] == {}
    assert flat_markdown('!!! warning "Mind"\n    Body\n\n# T { #id }') == "Mind\n\nBody\n\n# T"
    assert flat_markdown("```\n!!! note\n    x\n```") == "```\n!!! note\n    x\n```"


@pytest.mark.parametrize(
    ("text", "suffix"),
    [
        ("A\n=\n\n.. note:: B", ".rst"),
        (":ref:`a` and :class:`b`", ".rst"),
        ("# A\n\n## B\n\n[c](d)", ".md"),
        ("# a comment\n# another\nword", ".txt"),
    ],
)
def test_the_markup_of_a_plain_text(text: str, suffix: str) -> None:
    assert markup_of(text) == suffix


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("Source: a\nSECTION: b\npid: c\nTeam: d", {"Team": "d"}),
        ("date: 2024-13-45", {}),
        ("n: 0b_", {}),
        ("n: [" + "[" * 2_000, {}),
        (f"n: 1{'0' * 400}\nx: .inf\ny: 7", {"n": f"1{'0' * 400}", "x": "inf", "y": 7}),
        ('x: "\\e[31mred\\ud800"', {"x": "[31mred\ufffd"}),
        ("x: !!python/object/apply:os.system [id]", {}),
        (f"x: {'a' * 70_000}", {}),
    ],
)
def test_front_matter_of_a_stranger(lines: str, expected: dict[str, object]) -> None:
    assert front_matter(f"---\n{lines}\n---\nText")[0] == expected
