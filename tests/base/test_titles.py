"""Namesakes are told apart by what their metadata says."""

from typing import Any

import pytest

from polyqa.base.titles import told_apart
from polyqa.base.values import Passage


def told(*each: tuple[str, dict[str, Any]]) -> list[str]:
    passages = [Passage(pid=str(at), title=title, text="It pumps.", metadata=of) for at, (title, of) in enumerate(each)]
    apart = told_apart(passages)
    assert [(one.pid, one.text, one.metadata) for one in apart] == [
        (one.pid, one.text, one.metadata) for one in passages
    ]
    return [one.title for one in apart]


def test_the_first_field_that_differs_stands_behind_the_title() -> None:
    heron = {"kind": "manual", "product": "Heron", "author": "M. Lund"}
    falcon = {"kind": "manual", "product": "Falcon", "author": "S. Berg"}
    assert told(("Pump", heron), ("Oven", heron), ("Pump", falcon), ("Pump", heron)) == [
        "Pump (Heron)",
        "Oven",
        "Pump (Falcon)",
        "Pump (Heron)",
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({}, {}),
        ({"product": "Heron"}, {}),  # nothing is known of the other
        ({"product": "Heron"}, {"product": "Heron"}),
        ({"row": 1}, {"row": 2}),
        ({"source": "a.md", "section": "Use", "page": 1}, {"source": "b.md", "section": "Care", "page": 2}),
        ({"url": "https://example.org/1"}, {"url": "https://example.org/2"}),
        ({"summary": "x" * 41}, {"summary": "y"}),
        ({"product": ""}, {"product": "Falcon"}),
    ],
)
def test_what_tells_nothing_apart_is_not_shown(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert told(("Pump", one), ("Pump", other)) == ["Pump", "Pump"]


def test_without_a_title_there_is_no_namesake() -> None:
    assert told(("", {"product": "Heron"}), ("", {"product": "Falcon"})) == ["", ""]
