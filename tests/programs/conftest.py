from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import dspy
import pytest
from scripted_engine import ScriptedEngine
from usual_replies import USUAL

import polyqa
from polyqa.base.values import Passage
from polyqa.colbert_index import BiEncoderReranker, ColBERTIndex, FusedRetriever, build_index
from polyqa.evaluation.loading import load_questions
from polyqa.extractive import ExtractiveEngine, embedded_lm
from polyqa.metrics.gold import Question, Reading
from polyqa.models import Encoder, Reader
from polyqa.programs.registry import REGISTRY
from polyqa.questions import build_questions, generate_questions

Parts = tuple[FusedRetriever, BiEncoderReranker]

_BRIDGES = [
    ("london", "Tower Bridge (London)", "Tower Bridge was opened in 1894. It crosses the Thames near the Tower."),
    ("sacramento", "Tower Bridge (Sacramento)", "Tower Bridge was opened in 1935. It crosses the Sacramento River."),
    ("forth", "Forth Bridge", "The Forth Bridge was designed by John Fowler. It is 2,467 metres long."),
    ("harbour", "Harbour Light", "The Harbour Light was designed by Ada Brown. The lighthouse was lit in 1871."),
    ("eye", "Southern Telescope", "The Southern Telescope was built by Carl Lund. It was moved inland in 1960."),
    ("dam", "Long Dam", "The Long Dam was completed in 1922. It is 90 metres tall."),
]


@pytest.fixture(scope="session")
def parts(encoder: Encoder) -> Parts:
    """Retriever and reranker over the shipped corpus."""
    index = ColBERTIndex("homonyms")
    return FusedRetriever([index, index.bm25]), BiEncoderReranker(encoder, index)


@pytest.fixture(scope="session")
def engine(encoder: Encoder) -> ExtractiveEngine:
    return ExtractiveEngine(encoder=encoder)


@pytest.fixture
def embedded(engine: ExtractiveEngine) -> Iterator[dspy.LM]:
    """The embedded engine as the language model of the test."""
    lm = embedded_lm(engine)
    with dspy.context(lm=lm, track_usage=True):
        yield lm


@pytest.fixture(scope="session")
def bridges(encoder: Encoder, engine: ExtractiveEngine, built_once: Callable[..., ColBERTIndex]) -> ColBERTIndex:
    """Six passages with their questions in the default place."""

    def build(folder: Path) -> None:
        passages = [Passage(pid=pid, title=title, text=text) for pid, title, text in _BRIDGES]
        index = build_index(passages, folder, encoder=encoder, progress=False)
        generate = partial(generate_questions, lm=embedded_lm(engine), reader=Reader(), threads=1)
        build_questions(index, generate, encoder=encoder)

    return built_once("bridges", build)


@pytest.fixture
def make(encoder: Encoder, request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Make a program by name, over the shipped corpus; one that needs questions over the six passages."""

    def of(name: str, **settings: Any) -> dspy.Module:
        index = {"index": request.getfixturevalue("bridges")} if "questions" in REGISTRY[name].needs else {}
        return polyqa.load(name, encoder=encoder, **index, **settings)

    return of


@pytest.fixture
def usual() -> ScriptedEngine:
    """A language model with one opinion of every question, which costs nothing."""
    return ScriptedEngine(lambda prompt: {name: USUAL[name] for name in prompt.output_fields})


@pytest.fixture
def training() -> Callable[[str], list[Question]]:
    """Labelled questions that a program's corpus answers: SIXPAQ of these tests has six passages of its own."""
    readings = tuple(
        Reading(f"When was Tower Bridge in {place} opened?", (year,))
        for place, year in (("London", "1894"), ("Sacramento", "1935"), ("Narnia", "1066"))
    )
    told = ("The bridge in London was opened in 1894, that in Sacramento in 1935.",)
    bridge = Question(id="t", question="When was Tower Bridge opened?", readings=readings, long_answers=told)
    return lambda name: [bridge] if "questions" in REGISTRY[name].needs else list(load_questions("homonyms/train")[:6])
