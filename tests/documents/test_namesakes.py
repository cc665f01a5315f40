from collections.abc import Mapping

import pytest

from polyqa.base.values import Passage
from polyqa.documents.namesakes import paths_apart, told_apart
from polyqa.documents.splitting import Splitter

TERMS, FEES = ("Contract › Notice", "Notice is in writing."), {"a": 9, "b": 12, "c": 9}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            {f"{name}/contract.md": [TERMS, ("Contract › Fees", f"{fee} euros.")] for name, fee in FEES.items()},
            [
                *("Contract (A & B & C) › Notice", "Contract (A & C) › Fees"),
                *("Contract (A & B & C) › Notice", "Contract (B) › Fees"),
                *("Contract (A & B & C) › Notice", "Contract (A & C) › Fees"),
            ],
        ),
        (  # what stands in many files names none of them
            {f"{at}/contract.md": [TERMS, ("Contract › Fees", f"{at} euros.")] for at in range(5)},
            [title for at in range(5) for title in (TERMS[0], f"Contract ({at}) › Fees")],
        ),
        ({"notes/may.md": [("Notes", "Rain.")], "notes/june.md": [("notes", "Sun.")]}, ["Notes (May)", "notes (June)"]),
        ({"a.md": [("Contract", "One."), ("Contract", "Two.")]}, ["Contract", "Contract"]),
        ({"a.md": [("Lease", "One.")], "b.md": [("Contract", "Two.")]}, ["Lease", "Contract"]),
        ({"a.md": [TERMS], "old/a.md": [TERMS]}, [TERMS[0], TERMS[0]]),
        ({"1.eml": [("Re: Budget", "One.")], "2.eml": [("Re: Budget", "Two.")]}, ["Re: Budget", "Re: Budget"]),
        ({"in.mbox": [("Re: Budget", "One.")], "out.mbox": [("Re: Budget", "Two.")]}, ["Re: Budget", "Re: Budget"]),
    ],
)
def test_documents_of_one_title_are_told_apart_where_they_differ(
    files: Mapping[str, list[tuple[str, str]]], expected: list[str]
) -> None:
    for pid in ("", "7"):  # ready passages stay as they are
        passages = {
            source: [Passage(pid=pid, title=title, text=text) for title, text in each] for source, each in files.items()
        }
        told = [passage.title for each in told_apart(passages, Splitter()).values() for passage in each]
        assert told == ([title for each in files.values() for title, _ in each] if pid else expected)


def test_ready_passages_are_no_namesakes_of_documents() -> None:
    files = {f"{name}.md": [Passage(pid="", title="Contract", text=name)] for name in ("a", "b")}
    ready = [Passage(pid="7", title="Contract", text="a")]
    told = told_apart({**files, "c.jsonl": ready}, Splitter())
    assert [one.title for each in told.values() for one in each] == ["Contract (A)", "Contract (B)", "Contract"]


def test_what_becomes_too_long_is_split_again() -> None:
    splitter = Splitter(tokens=64)
    long = [" ".join(["word"] * 58), "Two."]
    files = {f"{at}/a_name_of_many_words.md": [Passage(pid="", title="T", text=text)] for at, text in enumerate(long)}
    assert len(splitter.split("T", long[0])) == 1
    told = told_apart({f"the_{source}": each for source, each in files.items()}, splitter)
    first, second = told.values()
    assert [one.title for one in first] == ["T (The 0)"] * 2
    assert " ".join(one.text for one in first) == long[0]
    assert len(second) == 1


@pytest.mark.parametrize(
    ("sources", "names"),
    [
        (["x/acme-corp/2024-01-03.md", "x/globex/2024-01-03.md"], ["Acme Corp", "Globex"]),
        (["v1/guide.md", "v2/guide.md", "guide.md"], ["v1", "v2", ""]),
        (["a/x/q.md", "a/y/q.md", "b/x/q.md"], ["A, X", "A, Y", "B, X"]),
        (["report.pdf", "report.docx"], ["", ""]),
    ],
)
def test_names_of_paths(sources: list[str], names: list[str]) -> None:
    assert list(paths_apart(sources).values()) == names
