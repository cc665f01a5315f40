"""Files as other programs write them: note books, ticket systems, chats, scanners."""

import json
import zipfile
from pathlib import Path

import pytest

from polyqa.documents import Splitter, holds_documents
from polyqa.documents.cleaning import plain_blocks
from polyqa.documents.converting import convert
from polyqa.documents.markdown import markdown_blocks
from polyqa.documents.namesakes import paths_apart

ID = "8f3c2a1b9d4e4f60a1b2c3d4e5f60718"
TICKETS = [
    {"key": "OPS-1", "summary": "VPN drops", "fields": {"owner": "Ann", "tags": ["net", "mac"]}, "closed": None},
    {"key": "OPS-2", "summary": "Printer jams", "fields": {"owner": "Ben", "tags": []}},
]
ROWS = [
    "key: OPS-1; summary: VPN drops; fields owner: Ann; fields tags: net, mac.",
    "key: OPS-2; summary: Printer jams; fields owner: Ben.",
]


def passages(path: Path) -> list[tuple[str, str, object]]:
    found = [one for document in convert(path) for one in Splitter().passages(document, path.name)]
    return [(one.title, one.text, one.metadata.get("line")) for one in found]


@pytest.mark.parametrize(
    ("name", "content", "lines"),
    [
        ("tickets.jsonl", "".join(f"{json.dumps(ticket)}\n" for ticket in TICKETS), [1, 2]),
        ("tickets.json", json.dumps(TICKETS), [None, None]),
        ("tickets.json", json.dumps({"total": 2, "issues": TICKETS}, indent=1), [None, None]),
    ],
)
def test_objects_are_rows(tmp_path: Path, name: str, content: str, lines: list[int | None]) -> None:
    path = tmp_path / name
    path.write_text(content)
    assert holds_documents(path)
    assert passages(path) == [
        (f"tickets › OPS-{number}", text, line) for number, (text, line) in enumerate(zip(ROWS, lines, strict=True), 1)
    ]


@pytest.mark.parametrize(
    "line",
    ['{"text": "It flies."}', '{"question": "Who?", "answer": "Ann"}', '"It flies."', '{"id": 7, "text": null}', "{"],
)
def test_a_corpus_in_lines_of_json_stays_one(tmp_path: Path, line: str) -> None:
    (tmp_path / "a.jsonl").write_text(f"{line}\n")
    assert not holds_documents(tmp_path / "a.jsonl")


@pytest.mark.parametrize("line", ["{", "7"])
def test_a_broken_line_far_down_is_named(tmp_path: Path, line: str) -> None:
    lines = [json.dumps(TICKETS[0])] * 25 + [line]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    with pytest.raises(ValueError, match="line 26 is no object of JSON"):
        list(convert(tmp_path / "a.jsonl"))


def test_texts_beside_a_list_of_objects_are_kept(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"about": "All of May.", "issues": TICKETS}))
    assert "All of May" in passages(tmp_path / "a.json")[0][1]


def test_a_notebook_has_its_texts_and_its_code(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Sales\n", "\n", "We look at Umeå."]},
        {"cell_type": "code", "source": "df.sum()", "outputs": [{"text": ["1200"]}]},
        {"cell_type": "raw", "source": "x"},
    ]
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": cells, "nbformat": 4}, ensure_ascii=False))
    assert passages(tmp_path / "a.ipynb") == [("Sales", "We look at Umeå.\n\ndf.sum()", None)]


def test_open_document_and_rich_text(tmp_path: Path) -> None:
    urns = 'xmlns:{0}="urn:oasis:names:tc:opendocument:xmlns:{0}:1.0"'
    names = " ".join(urns.format(name) for name in ("office", "text"))
    body = (
        '<text:h text:outline-level="1">Fees</text:h><text:p>It is 48 euros.<text:note text:note-class="footnote">'
        "<text:note-citation>1</text:note-citation><text:note-body><text:p>Since May.</text:p></text:note-body>"
        "</text:note></text:p>"
    )
    with zipfile.ZipFile(tmp_path / "rules.odt", "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        archive.writestr(
            "content.xml",
            f"<office:document-content {names}><office:body><office:text>{body}</office:text></office:body>"
            "</office:document-content>",
        )
    (tmp_path / "lease.rtf").write_bytes(rb"{\rtf1\ansi\b Deposit\b0\par It is \'80450, paid to M\'fcller.\par}")
    assert [text for _, text, _ in passages(tmp_path / "rules.odt")] == ["Since May.\n\nIt is 48 euros."]
    assert passages(tmp_path / "lease.rtf") == [("Deposit", "It is €450, paid to Müller.", None)]


def test_ids_of_notion_are_no_part_of_a_name(tmp_path: Path) -> None:
    (tmp_path / f"Services {ID}.csv").write_text("Name,Owner\nBilling,Dana\n")
    (tmp_path / f"Rota {ID}.md").write_text("Status: Active\nOwner: Ben\n\n<aside>\nIt rotates.\n\n</aside>\n")
    assert passages(tmp_path / f"Services {ID}.csv") == [("Services › Billing", "Name: Billing; Owner: Dana.", 2)]
    assert passages(tmp_path / f"Rota {ID}.md") == [("Rota", "Status: Active; Owner: Ben.\n\nIt rotates.", 1)]
    assert paths_apart([f"Acme {ID}/a.md", "globex/a.md"])[f"Acme {ID}/a.md"] == "Acme"


@pytest.mark.parametrize(
    ("note", "shown"),
    [
        ("Met [[People/Ann Berg|Ann]] of [[Lund#Office]] and [[Sales/Ben]].", "Met Ann of Lund#Office and Ben."),
        ("![[plan.png|300]] It is ==new==. %% no one sees it %% ^a1b2c3", "It is new."),
        ("decided:: use it[^1]", "decided: use it."),
        ("[^1]: Since May.", "Since May."),
        ("> [!warning]- Budget\n> It is spent.", "Budget: It is spent."),
        ("> [!NOTE]\n> It is spent.", "It is spent."),
        ("**Date:** 4 May\n**Place:** Room 4", "Date: 4 May; Place: Room 4."),
        ("`df[[1]]`, x[[1]], a == b and c == d, std::map", "df[[1]], x[[1]], a == b and c == d, std::map."),
    ],
)
def test_what_obsidian_and_github_add_to_markdown(tmp_path: Path, note: str, shown: str) -> None:
    (tmp_path / "a.md").write_text(note)
    assert [text for _, text, _ in passages(tmp_path / "a.md")] == [shown]
    assert len(markdown_blocks(note)) == 1


@pytest.mark.parametrize(
    ("note", "title"),
    [
        ("It schedules jobs.\n\n## Goals\n\nNo job runs twice.\n\n## People\n\nAnn.", "Kestrel"),
        ("It schedules jobs.\n\n## Goals\n\nNo job runs twice.", "Kestrel"),
        ("Draft\n\n# Scheduler\n\nIt schedules jobs.", "Scheduler"),
    ],
)
def test_a_heading_below_a_text_names_a_section(tmp_path: Path, note: str, title: str) -> None:
    (tmp_path / "Kestrel.md").write_text(note)
    assert {full.partition(" › ")[0] for full, _, _ in passages(tmp_path / "Kestrel.md")} == {title}


def test_a_chat_of_an_iphone_has_a_paragraph_for_each_message() -> None:
    lines = [
        "\u200e[12/03/2024, 09:14:02] Ann: \u200eHi",
        "[12/03/2024, 09:15:10] Ben: Hello",
        "\u200e[12/03/2024, 09:20:00] Ann: Bye",
    ]
    assert [block.text[23:] for block in plain_blocks("\n".join(lines))] == ["Ann: Hi.", "Ben: Hello.", "Ann: Bye."]


@pytest.mark.parametrize(
    "heading",
    ["§ 2 Beiträge", "2 Überblick", "ÜBERBLICK", "Art. 5 Kündigung", "Article 3", "1. Обзор", "第2章 休暇", "1. 休暇"],
)
def test_headings_of_other_languages(heading: str) -> None:
    kinds = [block.kind for block in plain_blocks(f"Satzung.\n\n{heading}\n\nEs ist so.\n")]
    assert kinds == ["text", "heading", "text"]


def test_lines_of_japanese_are_joined_without_a_space() -> None:
    assert [block.text for block in plain_blocks("新サーバーは4月8日に\n稼働を開始する。\n")] == [
        "新サーバーは4月8日に稼働を開始する。"
    ]
