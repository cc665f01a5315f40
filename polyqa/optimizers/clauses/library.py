"""Candidate clauses: plain sentences that may be added to an instruction, and what each is for."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

import dspy

from polyqa import signatures
from polyqa.signatures.lookup import find_by_fields


@dataclass(frozen=True)
class Candidate:
    """A clause that may be added to an instruction.

    Attributes
    ----------
    name
        For people and commands; unique.
    group
        Of clauses of one group an instruction has one at most: they say different things of the same matter.
    text
        What is added, one or two sentences.
    purpose
        When it helps.
    """

    name: str
    group: str
    text: str
    purpose: str


def _read_library() -> Mapping[type[dspy.Signature], Sequence[Candidate]]:
    library: dict[type[dspy.Signature], list[Candidate]] = {}
    text = files(__package__).joinpath("library.toml").read_text(encoding="utf-8")
    for entry in tomllib.loads(text)["clause"]:
        tasks = entry.pop("tasks")
        for task in tasks:
            library.setdefault(getattr(signatures, task), []).append(Candidate(**entry))
    return library


LIBRARY = _read_library()
"""The clauses of each task of polyqa; a task of one's own gets those of the task that it has the fields of."""


def candidates_for(signature: type[dspy.Signature]) -> Sequence[Candidate]:
    """Return the clauses that may be added to a signature's instructions; none for a task that is not known."""
    return find_by_fields(LIBRARY, signature.input_fields, signature.output_fields) or ()
