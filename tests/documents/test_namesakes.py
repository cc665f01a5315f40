from collections.abc import Mapping

import pytest

from polyqa.base.values import Passage
from polyqa.documents.namesakes import paths_apart, told_apart
from polyqa.documents.splitting import Splitter

TERMS = ("Contract › Notice", "Notice is in writing.")


def titles(files: Mapping[str, list[tuple[str, str]]], pid: str = "") -> list[str]:
    passages = {
        source: [Passage(pid=pid, title=title, text=text) for title, text in each] for source, each in files.items()
    }
    return [passage.title for each in told_apart(passages, Splitter()).values() for passage in each]


def test_documents_of_one_title_are_told_apart_where_they_differ() -> None:
    fees = {name: ("Contract › Fees", f"The fee is {fee}.") for name, fee in (("a", "9"), ("b", "12"), ("c", "9"))}
    files = {f"{name}/contract.md": [TERMS, fee] for name, fee in fees.items()}
    assert titles(files) == [
        *("Contract (A & B & C) › Notice", "Contract (A & C) › Fees"),
        *("Contract (A & B & C) › Notice", "Contract (B) › Fees"),
        *("Contract (A & B & C) › Notice", "Contract (A & C) › Fees"),
    ]


def test_what_stands_in_many_files_names_none_of_them() -> None:
    files = {f"{at}/contract.md": [TERMS, ("Contract › Fees", f"The fee is {at}.")] for at in range(5)}
    assert titles(files) == [title for at in range(5) for title in (TERMS[0], f"Contract ({at}) › Fees")]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"notes/may.md": [("Notes", "Rain.")], "notes/june.md": [("notes", "Sun.")]}, ["Notes (May)", "notes (June)"]),
        ({"a.md": [("Contract", "One."), ("Contract", "Two.")]}, ["Contract", "Contract"]),
        ({"a.md": [("Lease", "One.")], "b.md": [("Contract", "Two.")]}, ["Lease", "Contract"]),
        ({"a.md": [TERMS], "old/a.md": [TERMS]}, [TERMS[0], TERMS[0]]),
        ({"1.eml": [("Re: Budget", "One.")], "2.eml": [("Re: Budget", "Two.")]}, ["Re: Budget", "Re: Budget"]),
    ],
)
def test_what_is_no_namesake_keeps_its_title(files: dict[str, list[tuple[str, str]]], expected: list[str]) -> None:
    assert titles(files) == expected


def test_ready_passages_stay_as_they_are() -> None:
    assert titles({"a.jsonl": [("Contract", "One.")], "b.jsonl": [("Contract", "Two.")]}, "7") == ["Contract"] * 2


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
