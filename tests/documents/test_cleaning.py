import pytest

from polyqa.documents.blocks import Block, Kind
from polyqa.documents.cleaning import cleaned, plain_blocks, printed_blocks
from polyqa.documents.converting import _whole
from polyqa.documents.markdown import front_matter, markdown_blocks
from polyqa.documents.markup import markup_of, rst_as_markdown, wiki_as_markdown


def texts(blocks: list[Block]) -> list[str]:
    return [block.text for block in blocks]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a bro-\nken word", "a broken word."),
        ("la mê-\nme fenê-\ntre, pół-\nnocny, доку-\nмент", "la même fenêtre, północny, документ."),
        ("a well-\nKnown name", "a well- Known name."),
        ("soft\u00adhyphen and\u200b zero width", "softhyphen and zero width."),
        ("page\fbreak", "page break."),
        ("<p>Tags <b>go</b></p>, but <name> stays", "Tags go, but <name> stays."),
        ("AT&amp;T [link](https://x.org/a_(b)) ![picture](p.png)", "AT&T link."),
        (f"data {'Ab9/' * 200} end", "data end."),
        ("1.2 Wings . . . . . . . . 7", None),
        ("Preface .... xi", None),
        ("1.2 Wings . . . . . . . . .", None),
        ("He waited.... Then the pump started.", "He waited.... Then the pump started."),
        ("It was……  2 days later it ran.", "It was…… 2 days later it ran."),
        ("He waited, and then .... nothing", "He waited, and then .... nothing."),
        ("***", None),
    ],
)
def test_a_text_is_cleaned(text: str, expected: str | None) -> None:
    assert texts(cleaned([Block(text)])) == ([expected] if expected else [])


def test_of_the_signs_around_a_heading_those_of_a_name_stay() -> None:
    headings = [Block(text, "heading", 1) for text in ("Code in C#", "**F#**", "**Plan A**", "Nests#", "# Eyes #")]
    assert texts(cleaned(headings)) == ["Code in C#", "F#", "Plan A", "Nests", "Eyes"]


def test_a_paragraph_goes_on_after_a_page_break() -> None:
    blocks = [Block("It flies over the", page=1), Block("northern sea.", page=2), Block("New one.", page=3)]
    assert cleaned(blocks) == [Block("It flies over the northern sea.", page=1), Block("New one.", page=3)]
    assert texts(cleaned([Block("a fal-", page=1), Block("con flies", page=2)])) == ["a falcon flies."]
    assert texts(cleaned([Block("доку-", page=1), Block("мент", page=2)])) == ["документ."]


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


@pytest.mark.parametrize(
    "text",
    [
        "x K(x) = 2",
        "This introduction to a",
        *("February 20, 2023", "20 February 2023", "3. März 2021", "Sept. 1st, 2020"),
    ],
)
def test_a_formula_a_part_of_a_sentence_or_a_date_is_no_heading(text: str) -> None:
    headings = [Block("Bene\x1cts", "heading", 1, page=1), Block(text, "heading", 1, page=1)]
    blocks = printed_blocks([*headings, Block("package is short.", page=1)])
    assert [(block.text, block.kind) for block in blocks[:2]] == [("Benefits", "heading"), (text, "text")]
    assert printed_blocks([]) == []


def sized(text: str, size: float, kind: Kind = "heading", level: int = 2, page: int = 1) -> Block:
    return Block(text, kind, level if kind == "heading" else 0, page=page, size=size)


BODY = sized("Falcons fly over the cold northern sea and return in spring.", 10, "text")


def test_what_is_set_larger_is_a_heading_and_what_is_not_must_read_like_one() -> None:
    blocks = printed_blocks(
        [
            sized("The Falcon Book", 18, level=1),
            sized("Ann Author", 12),
            sized("Abstract", 9, level=3),
            BODY,
            sized("1 Introduction", 14),
            sized("falcons is a word that begins this line.", 10, "text"),
            sized("What is a nest?", 14),
            BODY,
            sized("As far as the eye can see, they fly over the sea", 10),
            sized("> fly(falcon, speed = 3)", 10),
            sized("Types of prey", 10),
            BODY,
            sized("Ann Author\nUniversity of the North\nNorth Road 7", 12),
            sized("and over the sea", 13),
            sized("Acknowledgments", 14, "text"),
            BODY,
        ]
    )
    assert [(block.text, block.level) for block in blocks if block.kind == "heading"] == [
        ("The Falcon Book", 1),
        ("Abstract", 3),
        ("1 Introduction", 1),
        ("What is a nest?", 1),
        ("Types of prey", 2),
        ("Acknowledgments", 1),
    ]
    assert len(blocks) == 16


def test_lines_of_large_type_below_each_other_are_no_headings() -> None:
    quote = [sized(text, 14, "text") for text in ("We fly", "over all seas", "of the world")]
    blocks = printed_blocks([sized("Falcons", 14), BODY, *quote, BODY])
    assert [block.text for block in blocks if block.kind == "heading"] == ["Falcons"]


def test_a_numbered_heading_at_the_top_of_a_page_is_no_running_line() -> None:
    blocks = [
        block
        for page in range(1, 6)
        for block in (
            sized(f"Example {page}", 14, page=page),
            sized("Falcons fly.\nSo do hawks.", 10, "text", page=page),
            sized(f"Kind {'abcdefg'[page]} is rare.", 10, "text", page=page),
            sized("Of it little is known.", 10, "text", page=page),
            sized(f"The Falcon Book {page}", 10, "text", page=page),
        )
    ]
    kept = printed_blocks(blocks)
    assert [block.text for block in kept if block.kind == "heading"] == [f"Example {page}" for page in range(1, 6)]
    assert not any("Book" in block.text for block in kept)


def test_a_page_that_was_torn_into_a_table_is_read_by_its_lines() -> None:
    torn = [Block("Falcons: fly; over: the.", "table", page=1), Block("Short.", page=2)]
    lines = (
        "Contents\n1 Introduction 1\nFalcons fly over the cold\nnorthern sea.\n2 Nests\nThey build none.\nNone at all."
    )
    blocks = _whole(torn, {1: lines, 2: "Short."})
    assert [block.text for block in blocks if block.kind == "heading"] == ["2 Nests"]
    assert "Falcons fly over the cold\nnorthern sea." in [block.text for block in blocks]
    assert blocks[-1] == torn[1]


def test_an_rfc_without_form_feeds_has_pages_a_title_and_headings() -> None:
    head = (
        "Network Working Group          G. Bird\nCategory: Standards Track\n\n            Falcon Option\n\nAbstract\n\n"
    )
    pages = [f"   Falcons of kind {kind} fly\n   over a cliff.\n\nBird      Standards Track     [Page {at}]\n\n"
             "RFC 9999    Falcon Option     May 2024\n\n" for at, kind in enumerate("abcd", 1)]  # fmt: skip
    blocks = [block for block in plain_blocks(head + "".join(pages)) if block.kind != "code"]
    assert [(block.text, block.kind, block.page) for block in blocks[:1] + blocks[3:5]] == [
        ("Falcon Option", "heading", None),
        ("Abstract", "heading", 1),
        ("Falcons of kind a fly over a cliff.", "text", 1),
    ]
    assert not any("Page" in block.text or "RFC" in block.text for block in blocks)


def test_what_a_web_page_has_around_its_text() -> None:
    furniture = [
        "- [Home](/)",
        "[<-previous](a.html)[next->](b.html)",
        "Skip to content",
        "« Previous",
        "Built with Sphinx using a theme.",
        "© 2024 Falcon Inc.",
        "This site uses cookies. Accept all",
        "We use cookies to improve this site.",
        "Copyright 2024 Falcon Inc.",
        "Powered by WordPress",
        "Contents",
        "Next: Wings",
    ]
    kept = [
        "A cookie is a small cake that falcons do not eat.",
        "(c) pay the rent on the first day of the month.",
        "For these cookies we use brown sugar and butter.",
        "Made with rye flour, they keep for weeks.",
        "Powered by two diesel engines, she made 20 knots.",
        "Contents: flour, sugar, salt.",
        "Copyright infringement is dealt with below.",
        "See [the guide](g.html) for all the other birds.",
    ]
    assert texts(markdown_blocks("\n\n".join([*furniture, *kept]), web=True)) == [
        *kept[:-1],
        "See the guide for all the other birds.",
    ]
    (heading,) = markdown_blocks("## Copyright infringement", web=True)
    assert heading.kind == "heading"
    (block,) = markdown_blocks("**Bold**, `code`, allow\\_mx, 2 * 3 * 4, <name>", web=True)
    assert block.text == "Bold, code, allow_mx, 2 * 3 * 4, <name>"


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
    ("text", "shown"),
    [
        (
            "Use `copy <source> <target>`, \\<b> or &lt;video&gt;, and <b>not</b> `&lt;`.",
            "Use copy <source> <target>, <b> or <video>, and not &lt;.",
        ),
        ("| Tag | Use |\n|---|---|\n| `<table>` | rows |", "Tag: <table>; Use: rows."),
        ("## `<summary>` of <i>it</i>", "<summary> of it"),
    ],
)
def test_code_and_text_that_look_like_a_tag_stay(text: str, shown: str) -> None:
    assert texts(cleaned(markdown_blocks(text))) == [shown]


def test_a_plain_text_has_no_tags() -> None:
    text = "THE <TABLE> ELEMENT\n\nif a<b and b>c then <br>\ncopy <source> <target>."
    assert texts(plain_blocks(text))[1:] == ["if a<b and b>c then <br> copy <source> <target>."]


@pytest.mark.parametrize(
    ("rst", "expected"),
    [
        (".. note:: Mind the\n   gap.\n\n   More.", ["Mind the gap.", "More."]),
        (".. toctree::\n   :maxdepth: 2\n\n   a\n   b\n\nText", ["Text."]),
        ("See :pep:`13`, :rfc:`2822` and :pep:`the style guide <8>`.", ["See PEP 13, RFC 2822 and the style guide."]),
        (".. comment\n   goes on\n\n.. _label:\n\nText", ["Text."]),
        (".. method:: save(x)\n   :async:\n\n   Saves.", ["save(x).", "Saves."]),
        (".. program-output:: fly --help", []),
        ("..\n  A comment\n  # goes on\n\nText", ["Text."]),
        ("See `the\nguide <g>`__\nof the\n`sea\n<s>`__\nnow.", ["See the guide of the sea now."]),
        ("Two\nlines::\n\n   .. note:: kept\n\nText", ["Two lines:", ".. note:: kept", "Text."]),
        (".. versionadded:: 2.0", ["New in version 2.0."]),
        ("See :ref:`the\nguide <g>` of :func:`~a.b.c`, `here <x>`_, Falcon_.", ["See the guide of c, here, Falcon."]),
        ("See ``__init__.py``.", ["See __init__.py."]),
        ("Use ``<table>``.", ["Use <table>."]),
        ("- item\n  goes on\n- next\n\n  and on", ["item goes on.", "next.", "and on."]),
        ("speed\n   How fast it is.", ["speed: How fast it is."]),
        (">>> fly()\nTrue\n\nText", [">>> fly()\nTrue", "Text."]),
        (".. code:: sh\n\n   # no heading\n\n   fly", ["# no heading\nfly"]),
    ],
)
def test_directives_and_roles_of_sphinx(rst: str, expected: list[str]) -> None:
    assert texts(cleaned(markdown_blocks(rst_as_markdown(rst)))) == expected


def test_headings_of_restructuredtext_have_the_levels_of_their_adornments() -> None:
    rst = "====\nBird\n====\n\nFalcon\n======\n\nEyes\n----\n\nSharp.\n\nHawk\n====\n"
    blocks = markdown_blocks(rst_as_markdown(rst))
    assert [(block.text, block.level, block.line) for block in blocks] == [
        ("Bird", 1, 2),
        ("Falcon", 2, 5),
        ("Eyes", 3, 8),
        ("Sharp.", 0, 11),
        ("Hawk", 2, 13),
    ]


@pytest.mark.parametrize(
    "rst",
    [
        "====  =======\nBird  Prey\n====  =======\nHawk  a hare\n      or two\nÖwl   mouse\n====  =======\n",
        "+------+--------+\n| Bird | Prey   |\n+======+========+\n| Hawk | a hare |\n|      | or two |\n"
        "+------+--------+\n| Öwl  | mouse  |\n+------+--------+\n",
        "+------+--------+\n| Bird | Prey   |\n+======+========+\n| Hawk   | a hare or two |\n"
        "+------+--------+\n| Öwl | mouse   |\n+------+--------+\n",
        ".. csv-table::\n   :header: Bird, Prey\n\n   Hawk, a hare or two\n   Öwl, mouse\n",
        ".. list-table::\n   :header-rows: 1\n\n   * - Bird\n     - Prey\n   * - Hawk\n     - a hare\n       or two\n"
        "   * - Öwl\n     - mouse\n",
    ],
)
def test_tables_of_restructuredtext(rst: str) -> None:
    (table,) = markdown_blocks(rst_as_markdown(rst))
    assert (table.text, table.kind) == ("Bird: Hawk; Prey: a hare or two.\nBird: Öwl; Prey: mouse.", "table")


def test_a_cell_over_several_rows_stands_in_each_of_them() -> None:
    rst = "+----+----+\n| a  | 1  |\n|    +----+\n|    | 2  |\n+----+----+\n"
    assert markdown_blocks(rst_as_markdown(rst))[0].text == "a: 1.\na: 2."


@pytest.mark.parametrize(
    "text",
    [
        "= Bird =\n\n== Eyes ==\n\nSee '''sharp''' [[Hawk|hawks]].{{cite|x}}\n\n* one\n** two",
        "====== Bird ======\n\n===== Eyes =====\n\nSee **sharp** [[Birds:Hawk|hawks]].{{eye.png}}\n\n* one\n\t* two",
    ],
)
def test_wikis(text: str) -> None:
    assert markup_of(text) == ".wiki"
    blocks = markdown_blocks(wiki_as_markdown(text))
    assert texts(blocks) == ["Bird", "Eyes", "See sharp hawks.", "one", "two"]
    assert [(block.level, block.line) for block in blocks[:3]] == [(1, 1), (2, 3), (0, 5)]


def test_code_of_a_wiki_is_kept() -> None:
    text = "Content-Type: text/x-zim-wiki\nWiki-Format: zim 0.4\n\n**Note:** run\n\n'''\nfly //now//\n'''\n"
    assert [(block.text, block.line) for block in cleaned(markdown_blocks(wiki_as_markdown(text)))] == [
        ("Note: run.", 4),
        ("fly //now//", 7),
    ]


def test_front_matter_and_what_site_generators_add_to_markdown() -> None:
    assert front_matter("---\na: 1\nb: [x, {y: 1}]\nline: 3\nc:\n---\nText") == ({"a": 1}, "\n" * 6 + "Text")
    toml = "+++\ntitle = 'Falcon'\ndate = 2024-01-02T09:30:00Z\ntags = ['a', 'b']\n[params]\nc = 1\n+++\n"
    fields = {"title": "Falcon", "date": "2024-01-02T09:30:00+00:00", "tags": "a, b"}
    assert front_matter(f"{toml}Text") == (fields, "\n" * 7 + "Text")
    assert front_matter(f"{toml}+++") == (fields, "\n" * 7 + "+++")
    assert front_matter("+++\na\n+++\nText") == ({}, "+++\na\n+++\nText")
    assert front_matter("---\n- a\n---\nText")[0] == front_matter("---\na: [\n---\nText")[0] == {}
    for text, expected in {
        '!!! warning "Mind"\n    Body\n\n# T { #id }': ["Mind: Body", "T"],
        "```\n!!! note\n    x\n```": ["!!! note\n    x\n"],
        '{{% note %}}\nMind [it]({{< relref "a#b" >}}).\n{{% /note %}}': ["Mind it."],
        'Mind [it]({% page "/a/#b" %}), [him]({{ site.url }}/c) and {{ her }}.': ["Mind it, him and {{ her }}."],
        "{% raw %}\nText\n\n::: tip\nMore\n:::": ["Text", "More"],
        "(label)=\n```{note}\n:class: x\n\nSee {ref}`it`.\n```": ["See it."],
        "```{ .py }\n# no heading\nfly()\n```": ["# no heading\nfly()\n"],
        "<script>\nx\n</script>\n\nText": ["Text"],
        "#### `A=<n>`\n\n: How\nmany.\n\n    !!! tip\n\n        Few.\n\n    Defaults to 1": [
            "A=&lt;n&gt;",
            "How many.",
            "Few.",
            "Defaults to 1",
        ],
        "Hawk\n: A bird.\n\nTime: 9": ["Hawk: A bird.", "Time: 9"],
    }.items():
        assert [text.strip(" ") for text in texts(markdown_blocks(text))] == expected, text


@pytest.mark.parametrize(
    "added", ["!!! info\nBody", "!!! info\n", ": Body", "Term\n: Body\n\n    More", "=== tab\n\n    x"]
)
def test_what_is_taken_away_moves_no_line(added: str) -> None:
    blocks = markdown_blocks(f"{added}\n\n# Title\n\nText")
    lines = added.count("\n") + 1
    assert [(block.text, block.line) for block in blocks[-2:]] == [("Title", lines + 2), ("Text", lines + 4)]


def test_options_of_a_directive_move_no_line() -> None:
    (body,) = markdown_blocks("```{note}\n:class: x\n:name: y\n\nBody\n```")
    assert (body.text, body.line) == ("Body", 5)


@pytest.mark.parametrize(
    ("head", "row", "text", "line"),
    [
        ("query | dumps all of it.", "clean | removes it.", "query: dumps all of it.\nclean: removes it.", 2),
        ("Term | Meaning", "clean: | new", "Term: clean; Meaning: new.", 3),
    ],
)
def test_rows_of_terms_and_meanings_have_no_header(head: str, row: str, text: str, line: int) -> None:
    (block,) = markdown_blocks(f"| {head} |\n|---|---|\n| {row} |")
    assert (block.text, block.line) == (text, line)
    assert texts(markdown_blocks(f"`time1` *time*\nAn offset.\n\n| {head} |\n|---|---|\n| {row} |", web=True)) == [
        "time1 time An offset.",
        text,
    ]


@pytest.mark.parametrize(
    ("text", "suffix"),
    [
        ("A\n=\n\n.. note:: B", ".rst"),
        (":ref:`a` and :class:`b`", ".rst"),
        ("# A\n\n## B\n\n[c](d)", ".md"),
        ("Falcon notes\n\n## Fuel\n\n40 litres", ".md"),
        ("# a comment\n# another\nword", ".txt"),
        ("a == b\n\n====\n", ".txt"),
        ("A\n====\n\nB\n=======\n\n=====  =====\n", ".txt"),
        ("======= A =======\n\n======= B =======\n", ".txt"),
        ("=== A ==\n\n==B==\n", ".wiki"),
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


@pytest.mark.parametrize(
    "lines",
    [
        [
            "12/03/2024, 18:05 - Ada: The water is on again.",
            "12/03/2024, 18:06 - Max: Who has the key?",
            "13/03/2024, 9:06 - Ada: Me.",
        ],
        ["[18:02:11] <ada> The mill is closed.", "[18:03:40] <max> Since when?"],
        ["2024-05-06 10:11:12 disk full", "2024-05-06T10:12:00 disk emptied by hand"],
        ["9:00 Registration", "9.30 Opening by the mayor", "10:15 Walk to the mill"],
    ],
)
def test_in_chats_and_logs_each_line_with_a_time_is_a_paragraph(lines: list[str]) -> None:
    blocks = plain_blocks("\n".join(["Notes of the day", "", *lines]))
    assert [block.line for block in blocks[1:]] == [*range(3, 3 + len(lines))]


def test_a_message_of_several_lines_stays_whole() -> None:
    blocks = plain_blocks("18:02 Ada: The key\nhangs in the shed.\n18:05 Max: Thanks.\n18:06 Ada: Bye.")
    assert [block.text for block in blocks] == [
        "18:02 Ada: The key hangs in the shed.",
        "18:05 Max: Thanks.",
        "18:06 Ada: Bye.",
    ]


def test_a_time_at_the_beginning_of_one_line_of_a_paragraph_is_prose() -> None:
    (block,) = plain_blocks("The ferry leaves at\n10:15 and is back at\nnoon, or later.")
    assert block.text == "The ferry leaves at 10:15 and is back at noon, or later."
