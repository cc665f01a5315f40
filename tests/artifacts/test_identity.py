import json
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import dspy
import pytest

from polyqa.artifacts.identity import described_program


class Searcher:
    """A retriever of someone else's."""

    def __init__(self, depth: int = 3, owner: Any = None) -> None:
        self.depth = depth
        self.owner = owner
        self.me = self
        self.log: list[str] = []
        self.place = Path("here")
        self._seen = 0

    @cached_property
    def model(self) -> float:
        return 0.5

    def search(self, query: str) -> list[str]:
        self.log.append(query)
        self._seen += 1
        return [str(self.model)]


class Program(dspy.Module):
    def __init__(self, **attributes: Any) -> None:
        super().__init__()
        self.answer = dspy.ChainOfThought("question -> answer")
        self.searcher = attributes.pop("searcher", None) or Searcher()
        for name, value in attributes.items():
            setattr(self, name, value)


def text(program: dspy.Module) -> str:
    return json.dumps(described_program(program), sort_keys=True)


def test_use_does_not_change_what_a_program_is() -> None:
    program = Program()
    program.searcher.owner = program
    before = text(program)
    program.searcher.search("What colour is the sky?")
    program.history.append({"prompt": "x"})
    assert text(program) == before
    assert text(program.deepcopy()) == before


@pytest.mark.parametrize(
    "other",
    [
        lambda: Program(searcher=Searcher(4)),
        lambda: Program(searcher=Searcher(owner=Searcher())),
        lambda: Program(rounds=2),
        lambda: Program(words=("a", "b")),
        lambda: Program(helper=Program(rounds=2)),
        lambda: Program(helpers=[Program(rounds=2)]),
        lambda: Program(tell=len),
    ],
)
def test_what_a_program_holds_makes_it_another(other: Callable[[], dspy.Module]) -> None:
    assert text(other()) == text(other())
    assert text(other()) != text(Program())
