"""The programs by name: what each is, where it is published, and what a question costs it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import dspy

from polyqa.base.errors import PolyqaError

from .auto import Auto
from .base import GroundedProgram
from .closed_book import ClosedBook
from .crag import CRAG
from .diva import DIVA
from .dtv import DiversifyThenVerify
from .jpr import JPR
from .query_refinement import QueryRefinement
from .rac import RAC
from .self_rag import SelfRAG
from .sixpaq import SIXPAQ
from .toc import TreeOfClarifications
from .verdict import VERDICT

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
        Language-model calls per question with the lean preset, for people; K stands for the passages.
    cost
        ``low`` up to two calls, ``medium`` up to about ten, ``high`` above.
    most
        How many calls an instance makes per question at most, if every reply can be read (one that cannot is asked
        for again); ``None`` if that is the language model's to say.
    depth
        How many round trips an instance waits for at most, one after the other; ``None`` likewise.
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
    most: Callable[[Any], int] | None
    depth: Callable[[Any], int] | None
    needs: frozenset[Need] = frozenset({"index"})


def _spared(program: DIVA) -> int:
    """Return how many calls DIVA spares where pseudo-interpretations come from generated questions."""
    return 1 if program.pseudo == "questions" else 0


def _answering(program: GroundedProgram) -> int:
    """Return how many calls make readings and an answer of a few passages."""
    return 1 if program.lean else 2


def _diva(program: DIVA) -> int:
    """Return how many calls DIVA makes at most: typing, inference, verification, and answer or recall or both."""
    verifying = 1 if program.lean else program.max_interpretations
    return 4 + verifying - _spared(program)  # lean: a reply that was asked for early, and recall in its place


_DIVA = "https://arxiv.org/abs/2409.02361"

REGISTRY: Mapping[str, Entry] = MappingProxyType(
    {
        "auto": Entry(
            Auto,
            "one answer where the corpus has one, DIVA's way where it has several",
            "polyqa's router over DIVA",
            "",
            "3, or 5 to 6 if ambiguous",
            "medium",
            lambda program: 5 + (1 if program.lean else program.max_interpretations) - _spared(program),
            lambda program: 5 - _spared(program),
        ),
        "closed-book": Entry(
            ClosedBook,
            "answers from the language model alone",
            "baseline of DIVA, In et al. 2024",
            _DIVA,
            "1",
            "low",
            lambda program: 1,
            lambda program: 1,
            frozenset(),
        ),
        "query-refinement": Entry(
            QueryRefinement,
            "names the readings and answers them, from the language model alone",
            "Amplayo et al. 2022; baseline of DIVA",
            "https://arxiv.org/abs/2210.17525",
            "2",
            "low",
            lambda program: 2,
            lambda program: 2,
            frozenset(),
        ),
        "rac": Entry(
            RAC,
            "retrieves once, extracts the readings, answers",
            "retrieval-augmented clarification, Kim et al. 2023; baseline of DIVA",
            _DIVA,
            "1",
            "low",
            _answering,
            _answering,
        ),
        "jpr": Entry(
            JPR,
            "chooses jointly, among 20 passages, those that hold the most answers",
            "joint passage reranking, Min et al. 2021, prompted",
            "https://arxiv.org/abs/2104.08445",
            "2",
            "medium",
            lambda program: 1 + _answering(program),
            lambda program: 1 + _answering(program),
        ),
        "crag": Entry(
            CRAG,
            "grades each passage, keeps the relevant strips, searches again where the passages fail",
            "Yan et al. 2024, prompted; baseline of DIVA",
            "https://arxiv.org/abs/2401.15884",
            "1 + K, one more for a second search",
            "medium",
            lambda program: 1 + _answering(program) + program.passages,
            lambda program: 2 + _answering(program),
        ),
        "self-rag": Entry(
            SelfRAG,
            "answers from each passage on its own, keeps what its critiques rate best",
            "Asai et al. 2024, prompted; baseline of DIVA",
            "https://arxiv.org/abs/2310.11511",
            "1 + at most 2 K",
            "medium",
            lambda program: 2 + 2 * program.passages,
            lambda program: 3,
        ),
        "sixpaq": Entry(
            SIXPAQ,
            "answers from questions that were made from the corpus beforehand, and passages",
            "Sun et al. 2023, prompted",
            "https://arxiv.org/abs/2308.08661",
            "2",
            "medium",
            lambda program: 1 + _answering(program),
            lambda program: 1 + _answering(program),
            frozenset({"index", "questions"}),
        ),
        "diva": Entry(
            DIVA,
            "diversifies the passages by pseudo-interpretations, verifies them, adapts the way to answer",
            "In et al. 2024",
            _DIVA,
            "4, 5 if the passages are useless",
            "medium",
            _diva,
            lambda program: (4 if program.lean else 5) - _spared(program),
        ),
        "toc": Entry(
            TreeOfClarifications,
            "clarifies each clarification in turn, prunes what no longer answers the question",
            "Tree of Clarifications, Kim et al. 2023",
            "https://arxiv.org/abs/2310.14696",
            "1 + at most 10 expansions + one check per node",
            "high",
            None,
            None,
        ),
        "verdict": Entry(
            VERDICT,
            "asks each of 20 passages for the reading it answers, clusters the readings",
            "Lee et al. 2025",
            "https://arxiv.org/abs/2502.10352",
            "2 + 20",
            "high",
            lambda program: 2 + program.universe,
            lambda program: 3,
        ),
        "dtv": Entry(
            DiversifyThenVerify,
            "diversifies, then verifies every pair of reading and passage",
            "baseline of VERDICT, Lee et al. 2025",
            "https://arxiv.org/abs/2502.10352",
            "3 + K",
            "high",
            lambda program: (
                2
                + _answering(program)
                + program.passages * (1 if program.lean else program.max_interpretations)
                - _spared(program)
            ),
            lambda program: 3 + _answering(program) - _spared(program),
        ),
    }
)
PROGRAMS: Mapping[str, type[dspy.Module]] = MappingProxyType({name: entry.program for name, entry in REGISTRY.items()})


def most_calls(program: dspy.Module) -> int | None:
    """Return how many calls a program makes per question at most, see `Entry.most`; ``None`` if that is not known.

    Nothing is known of a program that is not in the registry.
    """
    return _declared(program, "most")


def depth(program: dspy.Module) -> int | None:
    """Return how many round trips a question waits for at most, see `Entry.depth`; ``None`` if that is not known."""
    return _declared(program, "depth")


def _declared(program: dspy.Module, field: Literal["most", "depth"]) -> int | None:
    declared = next((getattr(entry, field) for entry in REGISTRY.values() if entry.program is type(program)), None)
    return None if declared is None else int(declared(program))


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


def needs_index(name: str) -> bool:
    """Return whether a program, by name, searches an index."""
    return "index" in registered(name).needs


def needs_questions(name: str, settings: Mapping[str, Any] = MappingProxyType({})) -> bool:
    """Return whether a program, by name and settings, reads a database of generated questions."""
    return "questions" in registered(name).needs or settings.get("pseudo") == "questions"
