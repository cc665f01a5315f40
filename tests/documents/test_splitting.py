from itertools import pairwise

import pytest

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.colbert_index import IndexSettings
from polyqa.colbert_index.lengths import SPECIAL_TOKENS, document_tokenizer, token_counts
from polyqa.documents import Splitter, split_passages
from polyqa.documents.blocks import Block, Document, rows_text
from polyqa.documents.cleaning import cleaned
from polyqa.documents.markdown import markdown_blocks

pytest.importorskip("semantic_text_splitter")
SENTENCES = [f"Falcon number {number} flies over the cold northern sea at dawn." for number in range(60)]
DOCUMENT = Document(
    "Falcons",
    [
        Block("Falcons", "heading", 1, page=1),
        Block("Flight", "heading", 2, page=1),
        *(Block(sentence, page=1 + number // 20) for number, sentence in enumerate(SENTENCES)),
        Block("Table", "heading", 2, page=4),
        Block("\n".join(f"Row: {number}; Height: {number * 7} m." for number in range(9)), "table", page=4),
    ],
    {"author": "Ann"},
)


def test_every_passage_fits_and_nothing_is_lost() -> None:
    splitter = Splitter(80)
    passages = list(splitter.passages(DOCUMENT, "a.pdf"))
    tokenizer = document_tokenizer(splitter.location)
    counts = token_counts(tokenizer, [passage.indexed_text for passage in passages])
    assert max(counts) <= 80 - SPECIAL_TOKENS
    assert len(passages) < 20
    flight = [passage for passage in passages if passage.title == "Falcons › Flight"]
    assert " ".join(passage.text for passage in flight).split() == " ".join(SENTENCES).split()
    assert all(passage.text.endswith(".") for passage in flight)
    pages = [passage.metadata["page"] for passage in flight]
    assert pages == sorted(pages)
    assert {*pages} == {1, 2, 3}
    assert flight[0].metadata == {"author": "Ann", "source": "a.pdf", "section": "Flight", "page": 1}


def test_a_row_of_a_table_stands_alone() -> None:
    rows = [p.text for p in Splitter().passages(DOCUMENT, "a.pdf") if "Table" in p.title]
    assert rows == [f"Row: {number}; Height: {number * 7} m." for number in range(9)]


def test_an_item_with_a_name_stands_alone_with_what_leads_to_it() -> None:
    text = """# Rockets

All of them burn kerosene.

There are two:

- **Falcon 1**: it flew in 2006.

  It is gone.
- **Falcon 9**: it flew in 2010.

Then:

- buy one
- fly it
"""
    document = Document("", markdown_blocks(text), {})
    assert [(p.text, p.metadata["line"]) for p in Splitter().passages(document, "a.md")] == [
        ("All of them burn kerosene.", 3),
        ("There are two:\n\nFalcon 1: it flew in 2006.\n\nIt is gone.", 7),
        ("There are two:\n\nFalcon 9: it flew in 2010.", 10),
        ("Then: buy one, fly it.", 12),
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "The council consists of:\n\n- Ada Berg\n- Max Moe\n- Ida Lind",
            "The council consists of: Ada Berg, Max Moe, Ida Lind.",
        ),
        ("We give you:\n\n1. a laptop, new\n2. a chair.", "We give you: a laptop, new; a chair."),
        ("Before:\n\n- one\n\nAfter.", "Before:\n\none.\n\nAfter."),
        (
            "Not this:\n\n- It is long. It has two sentences.\n- So",
            "Not this:\n\nIt is long. It has two sentences.\n\nSo.",
        ),
        ("Nested:\n\n- one\n  - two\n- three", "Nested:\n\none.\n\ntwo.\n\nthree."),
        ("They are three.\n\n- one\n- two", "They are three.\n\none.\n\ntwo."),
    ],
)
def test_a_list_of_a_few_words_an_item_is_one_sentence(text: str, told: str) -> None:
    document = Document("A", cleaned(markdown_blocks(text)), {})
    assert [passage.text for passage in Splitter().passages(document, "a.md")] == [told]


def test_a_comment_of_code_in_an_item_is_no_name() -> None:
    text = "# Changes\n\n- Fix what `# fmt: off` does to the lines that follow it.\n- Faster: it starts at once.\n"
    found = Splitter().passages(Document("", list(markdown_blocks(text)), {}), "a.md")
    assert [passage.title for passage in found] == ["Changes", "Changes › Faster"]


def test_no_passage_holds_nothing_but_what_leads_to_an_item() -> None:
    text = (
        f"# Tools\n\nThe current tools are:\n\n- **clean**: {'it removes one more file. ' * 50}\n- **query**: it asks."
    )
    first, *_, last = Splitter(64).passages(Document("", markdown_blocks(text), {}), "a.md")
    assert (first.title, first.text[:30]) == ("Tools › clean", "clean: it removes one more fil")
    assert (first.metadata["line"], last.metadata["line"]) == (5, 6)
    assert last.text == "The current tools are:\n\nquery: it asks."


def test_a_row_of_one_cell_says_what_the_rows_are_about() -> None:
    table = rows_text([["Zone", "Sales"], ["In 2022", ""], ["East", "4"], ["West", "5"]])
    document = Document("Sales", [Block(table, "table", line=4)], {})
    assert [(p.text, p.metadata["line"]) for p in Splitter().passages(document, "a.md")] == [
        ("Zone: In 2022.\n\nZone: East; Sales: 4.", 5),
        ("Zone: In 2022.\n\nZone: West; Sales: 5.", 6),
    ]


@pytest.mark.parametrize(
    ("title", "blocks", "titles"),
    [
        (
            "",
            ["# Commands", "## add", "### Options", "It adds.", "## build", "### Options", "A.", "### Files", "B."],
            ["Commands › add › Options", "Commands › build › Options", "Commands › Files"],
        ),
        ("Prices 2021", ["# Prices (2021)", "Four euros."], ["Prices 2021"]),
        ("Guide", ["# Costs", "They vary.", "## Costs", "Two."], ["Guide › Costs", "Guide › Costs"]),
    ],
)
def test_a_title_names_as_many_headings_as_tell_it_from_others(
    title: str, blocks: list[str], titles: list[str]
) -> None:
    document = Document(title, markdown_blocks("\n\n".join(blocks)), {})
    assert [passage.title for passage in Splitter().passages(document, "a.md")] == titles


@pytest.mark.parametrize(
    ("first", "second", "source", "title"),
    [
        (("Falcon", 1), ("Use", 2), "a/manual.rst", "Falcon"),
        (("Falcon", 1), ("Use", 1), "a/manual.rst", "manual"),  # not one of two that are alike
        (("Falcon", 1), ("Use", 1), "a/manual.md", "manual"),
        (("Falcon", 1), ("Use", 1), "a/MANUAL.MD", "MANUAL"),
        (("Falcon", 1), ("Use", 1), "a/manual.docx", "Falcon"),
        (("1. Introduction", 1), ("2. Use", 1), "a/manual.docx", "manual"),
        (("Introduction", 1), ("Use", 2), "manual.md", "Introduction"),
        (("Overview", 2), ("Use", 1), "manual.v2.html", "manual.v2"),
        (("Summary", 1), ("Use", 1), "README", "README"),
    ],
)
def test_a_section_that_a_document_begins_with_is_not_its_title(
    first: tuple[str, int], second: tuple[str, int], source: str, title: str
) -> None:
    blocks = [one for text, level in (first, second) for one in (Block(text, "heading", level), Block(f"On {text}."))]
    titles = [passage.title for passage in Splitter().passages(Document("", blocks, {}), source)]
    own = f"{title} › {first[0].removeprefix('1. ')}" if title != first[0] else title
    assert titles == [own, f"{title} › {second[0].removeprefix('2. ')}"]


def test_overlap_repeats_the_end() -> None:
    parts = [text for _, text in Splitter(80, overlap=30).split("T", " ".join(SENTENCES))]
    for before, after in pairwise(parts):
        assert before.rsplit(". ", 1)[-1].rstrip(".") in after


def test_a_long_title_is_cut_and_leaves_room() -> None:
    document = Document("Title " * 99, [Block("Word. " * 300)], {})
    passages = list(Splitter(64).passages(document, "a.md"))
    assert max(len(passage.title) for passage in passages) < 90
    assert max(len(passage.text.split()) for passage in passages) >= 8


def test_passages_of_a_corpus_keep_their_ids() -> None:
    short, long = Passage(pid="1", text="Short."), Passage(pid="2", title="T", text=" ".join(SENTENCES), score=1.0)
    first, *parts = split_passages([short, long], Splitter())
    assert first is short
    assert [part.pid for part in parts] == ["2", *(f"2#{number}" for number in range(2, len(parts) + 1))]
    assert " ".join(part.text for part in parts).split() == long.text.split()


@pytest.mark.parametrize(("sizes", "message"), [((8,), "32 to 512"), ((180, 100), "at most half a passage, 90")])
def test_sizes_that_make_no_sense(sizes: tuple[int, ...], message: str) -> None:
    with pytest.raises(PolyqaError, match=message):
        Splitter(*sizes)


def test_a_heading_over_nothing_is_a_text() -> None:
    text = "# Our whole team\n\n# About us\n\n## Anna Frei, head of sales\n\n## Notes\n\n## Offices\n\nOne in Kiel.\n\n"
    text += "### Opened in May 2019\n"
    document = Document("", list(markdown_blocks(text)), {})
    passages = [(passage.title, passage.text) for passage in Splitter().passages(document, "team.docx")]
    assert passages == [
        ("Our whole team › About us", "Anna Frei, head of sales"),
        ("Our whole team › Offices", "One in Kiel.\n\nOpened in May 2019"),
    ]


def test_headings_alone_are_the_text() -> None:
    document = Document("", list(markdown_blocks("# Plan\n\n## Sales\n\n## Kiel office opens\n")), {})
    (passage,) = Splitter().passages(document, "plan.md")
    assert (passage.title, passage.text) == ("Plan", "Plan\n\nSales\n\nKiel office opens")


def test_a_passage_may_be_as_long_as_an_index_reads() -> None:
    assert Splitter(IndexSettings(doc_maxlen=512).doc_maxlen).tokens == 512
