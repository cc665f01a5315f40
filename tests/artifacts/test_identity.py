from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import dspy
import pytest

import polyqa
from polyqa.artifacts.identity import identity, identity_hash
from polyqa.artifacts.state import signature_fingerprint
from polyqa.base.ledger import differences
from polyqa.models import Encoder
from polyqa.programs import KNNPredict


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
    def __init__(self, weights: dict[str, float] | None = None, encoder: Any = None, **attributes: Any) -> None:
        super().__init__()
        self.weights = weights or {"a": 0.5}
        self.answer = dspy.ChainOfThought("question -> answer")
        self.nearest = KNNPredict("question -> answer", encoder=encoder)
        self.searcher = attributes.pop("searcher", None) or Searcher()
        for name, value in attributes.items():
            setattr(self, name, value)


def test_use_does_not_change_what_a_program_is() -> None:
    program = Program()
    program.searcher.owner = program
    before = identity(program)
    program.searcher.search("What colour is the sky?")
    program.history.append({"prompt": "x"})
    assert identity(program) == before
    assert identity(program.deepcopy()) == before


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
        lambda: Program(weights={"a": 0.6}),
        lambda: Program(encoder=Encoder()),
    ],
)
def test_what_a_program_holds_makes_it_another(other: Callable[[], dspy.Module]) -> None:
    assert identity(other()) == identity(other())
    assert identity(other()) != identity(Program())
    assert identity_hash(other()) == identity_hash(other()) != identity_hash(Program())


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("rac", {"passages": 4}),
        ("rac", {"reranker": "reader"}),
        ("self-rag", {"preset": "paper"}),
        ("toc", {"pruning": False}),
    ],
)
def test_settings_of_a_shipped_program_make_it_another(name: str, setting: dict[str, Any]) -> None:
    assert identity_hash(polyqa.load(name)) != identity_hash(polyqa.load(name, **setting))


def test_what_a_predictor_is_asked_with_makes_a_program_another() -> None:
    def asking(**config: Any) -> dict[str, Any]:
        program = Program()
        program.answer = dspy.ChainOfThought("question -> answer", **config)
        return identity(program)

    plain, warm = asking(), asking(temperature=1.0, api_key="none", api_base="http://localhost:1")
    (changed,) = (name for name in {**plain, **warm} if plain.get(name) != warm.get(name))
    assert changed.endswith(".config.temperature")


def test_what_differs_is_named() -> None:
    before, after = identity(Program(rounds=1, searcher=Searcher())), identity(Program(searcher=Searcher(4)))
    assert differences(before, after) == "searcher.depth was 3, is 4; rounds was 1, is None"
    assert differences(before, before) == ""
    assert {"class": "Program", "weights.a": 0.5, "nearest.encoder": None}.items() <= before.items()


def test_the_wording_of_a_field_is_no_part_of_its_fingerprint() -> None:
    class Own(dspy.Signature):
        question: str = dspy.InputField()
        year: int | None = dspy.OutputField(desc="the year")

    other = Own.with_updated_fields("year", desc="in which year")
    assert signature_fingerprint(Own) == signature_fingerprint(other)
    assert signature_fingerprint(Own) != signature_fingerprint(Own.with_updated_fields("year", type_=str | None))
