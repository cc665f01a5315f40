"""The programs by name: what each is, where it is published, and what a question costs it."""

from collections import UserDict
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any, Literal

import dspy

from polyqa.base.errors import PolyqaError

from .base import CallLimits

Need = Literal["index", "questions", "reader"]


@dataclass(frozen=True)
class Entry:
    """A program of the registry.

    Attributes
    ----------
    place
        Its module in this package and its class, imported on first use: ``diva.DIVA``.
    summary
        What it does, in a few words.
    paper
        Who published it, for people.
    url
        Of the paper; empty if it is polyqa's own.
    calls
        Language-model calls per question with the lean preset, for people; K stands for the passages.
    needs
        What its constructor wants beside the encoder: an ``index`` (a retriever and a reranker), ``questions`` (a
        database of generated questions over it), a ``reader`` of spans.
    """

    place: str
    summary: str
    paper: str
    url: str
    calls: str
    needs: frozenset[Need] = frozenset({"index"})

    @property
    def program(self) -> type[dspy.Module]:
        """The class."""
        module, name = self.place.split(".")
        return getattr(import_module(f".{module}", __package__), name)


_DIVA = "https://arxiv.org/abs/2409.02361"

REGISTRY: Mapping[str, Entry] = MappingProxyType(
    {
        "auto": Entry(
            "auto.Auto",
            "one answer where the corpus has one, DIVA's way where it has several",
            "polyqa's router over DIVA",
            "",
            "3, or 5 to 6 if ambiguous",
        ),
        "closed-book": Entry(
            "closed_book.ClosedBook",
            "answers from the language model alone",
            "baseline of DIVA, In et al. 2024",
            _DIVA,
            "1",
            frozenset(),
        ),
        "query-refinement": Entry(
            "closed_book.QueryRefinement",
            "names the readings and answers them, from the language model alone",
            "Amplayo et al. 2022; baseline of DIVA",
            "https://arxiv.org/abs/2210.17525",
            "2",
            frozenset(),
        ),
        "rac": Entry(
            "rac.RAC",
            "retrieves once, extracts the readings, answers",
            "retrieval-augmented clarification, Kim et al. 2023; baseline of DIVA",
            _DIVA,
            "1",
        ),
        "spanwise": Entry(
            "spanwise.Spanwise",
            "copies answers out of passages or judges marked spans, keeps what the model is sure of; for small models",
            "polyqa's own, after VERDICT",
            "",
            "1 + up to 3 K short ones",
            frozenset({"index", "reader"}),
        ),
        "jpr": Entry(
            "jpr.JPR",
            "chooses jointly, among 20 passages, those that hold the most answers",
            "joint passage reranking, Min et al. 2021, prompted",
            "https://arxiv.org/abs/2104.08445",
            "2",
        ),
        "crag": Entry(
            "crag.CRAG",
            "grades each passage, keeps the relevant strips, searches again where the passages fail",
            "Yan et al. 2024, prompted; baseline of DIVA",
            "https://arxiv.org/abs/2401.15884",
            "1 + K, one more for a second search",
        ),
        "self-rag": Entry(
            "self_rag.SelfRAG",
            "answers from each passage on its own, keeps what its critiques rate best",
            "Asai et al. 2024, prompted; baseline of DIVA",
            "https://arxiv.org/abs/2310.11511",
            "at most 2 K + 1",
        ),
        "madam-rag": Entry(
            "madam_rag.MadamRAG",
            "an agent answers from each document, an aggregator keeps what is right, agents debate where they differ",
            "Wang et al. 2025",
            "https://arxiv.org/abs/2504.13079",
            "1 + K, at most three times",
        ),
        "sixpaq": Entry(
            "sixpaq.SIXPAQ",
            "answers from questions that were made from the corpus beforehand, and passages",
            "Sun et al. 2023, prompted",
            "https://arxiv.org/abs/2308.08661",
            "2",
            frozenset({"index", "questions"}),
        ),
        "diva": Entry(
            "diva.DIVA",
            "diversifies the passages by pseudo-interpretations, verifies them, adapts the way to answer",
            "In et al. 2024",
            _DIVA,
            "4, 5 if the passages are useless",
        ),
        "toc": Entry(
            "toc.TreeOfClarifications",
            "clarifies each clarification in turn, prunes what no longer answers the question",
            "Tree of Clarifications, Kim et al. 2023",
            "https://arxiv.org/abs/2310.14696",
            "1 + at most 10 expansions + one check per node",
        ),
        "verdict": Entry(
            "verdict.VERDICT",
            "asks each of 20 passages for the reading it answers, clusters the readings",
            "Lee et al. 2025",
            "https://arxiv.org/abs/2502.10352",
            "2 + 20",
        ),
        "dtv": Entry(
            "dtv.DiversifyThenVerify",
            "diversifies, then verifies every pair of reading and passage",
            "baseline of VERDICT, Lee et al. 2025",
            "https://arxiv.org/abs/2502.10352",
            "3 + K",
        ),
    }
)


class _Classes(UserDict[str, Any]):
    """The classes of the registry by name; each is imported when it is asked for."""

    def __getitem__(self, name: str) -> type[dspy.Module]:
        return REGISTRY[name].program


PROGRAMS: Mapping[str, type[dspy.Module]] = _Classes(REGISTRY)


def limits_of(program: dspy.Module) -> CallLimits | None:
    """Return what a program's class says itself, if it does: one that is derived from it may make other calls."""
    return program.call_limits if "call_limits" in vars(type(program)) else None


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
