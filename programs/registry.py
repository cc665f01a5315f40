"""The programs by name: what each is, where it is published, and what a question costs it."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import dspy

from signatures import PolyqaError

from .closed_book import ClosedBook
from .diva import DIVA
from .rac import RAC

Cost = Literal["low", "medium", "high"]
Need = Literal["index", "questions"]


@dataclass(frozen=True)
class Entry:
    """A program of the registry.

    Attributes
    ----------
    program
        Its class.
    summary
        What it does, in a few words.
    paper
        Who published it, for people.
    url
        Of the paper; empty if it is polyqa's own.
    calls
        Language-model calls per question, for people; I stands for the readings that are in play, K for the
        passages.
    cost
        ``low`` up to two calls, ``medium`` up to about ten, ``high`` above.
    needs
        What its constructor wants beside the encoder: an ``index`` (a retriever and a reranker), and
        ``questions`` (a database of generated questions over it).
    """

    program: type[dspy.Module]
    summary: str
    paper: str
    url: str
    calls: str
    cost: Cost
    needs: frozenset[Need] = frozenset({"index"})


_DIVA = "https://arxiv.org/abs/2409.02361"

REGISTRY: Mapping[str, Entry] = MappingProxyType(
    {
        "closed-book": Entry(
            ClosedBook,
            "answers from the language model alone",
            "baseline of DIVA, In et al. 2024",
            _DIVA,
            "1",
            "low",
            frozenset(),
        ),
        "rac": Entry(
            RAC,
            "retrieves once, extracts the readings, answers",
            "retrieval-augmented clarification, Kim et al. 2023; baseline of DIVA",
            _DIVA,
            "2",
            "low",
        ),
        "diva": Entry(
            DIVA,
            "diversifies the passages by pseudo-interpretations, verifies them, adapts the way to answer",
            "In et al. 2024",
            _DIVA,
            "4 + I",
            "medium",
        ),
    }
)
PROGRAMS: Mapping[str, type[dspy.Module]] = MappingProxyType({name: entry.program for name, entry in REGISTRY.items()})


def registered(name: str) -> Entry:
    """Return the entry of a program.

    Raises
    ------
    PolyqaError
        With the known names.
    """
    try:
        return REGISTRY[name]
    except KeyError:
        raise PolyqaError(f"Unknown program {name!r}; there are {', '.join(REGISTRY)}.") from None


def program_class(name: str) -> type[dspy.Module]:
    """Return the class of a program; see `registered`."""
    return registered(name).program
