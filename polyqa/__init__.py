"""Answers ambiguous questions completely, over your own corpus, with sources.

>>> import polyqa
>>> result = polyqa.ask("When did Titanic come out?")  # doctest: +SKIP
>>> result.answer, result.interpretations  # doctest: +SKIP

Everything here loads lazily: importing polyqa imports neither torch nor DSPy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polyqa.colbert_index import ColBERTIndex as ColBERTIndex
    from polyqa.colbert_index import build_index as build_index
    from polyqa.engines.extractive import embedded_lm as embedded_lm
    from polyqa.signatures import Coverage as Coverage
    from polyqa.signatures import Interpretation as Interpretation
    from polyqa.signatures import Passage as Passage
    from polyqa.signatures import PolyqaError as PolyqaError

    from .adapting import adapt as adapt
    from .asking import Result as Result
    from .asking import aask as aask
    from .asking import ask as ask
    from .batch import Answered as Answered
    from .batch import Batch as Batch
    from .batch import answer_many as answer_many
    from .cluster import Ray as Ray
    from .compiling import Budget as Budget
    from .compiling import compile as compile
    from .costing import Cost as Cost
    from .costing import cost as cost
    from .evaluating import evaluate as evaluate
    from .hub import Pulled as Pulled
    from .hub import Pushed as Pushed
    from .hub import pull as pull
    from .hub import push as push
    from .loading import load as load
    from .loading import open_index as open_index
    from .models import LMSettings as LMSettings
    from .models import Models as Models
    from .models import language_model as language_model
    from .question_building import build_questions as build_questions
    from .questions import Questions as Questions
    from .questions import Sets as Sets
    from .spreading import spread_index as spread_index
    from .tracing import traced as traced

__version__ = "0.1.0"

_HOMES = {
    name: module
    for module, names in {
        "polyqa.adapting": "adapt",
        "polyqa.asking": "Result aask ask",
        "polyqa.batch": "Answered Batch answer_many",
        "polyqa.cluster": "Ray",
        "polyqa.colbert_index": "ColBERTIndex build_index",
        "polyqa.compiling": "Budget compile",
        "polyqa.costing": "Cost cost",
        "polyqa.engines.extractive": "embedded_lm",
        "polyqa.evaluating": "evaluate",
        "polyqa.hub": "Pulled Pushed pull push",
        "polyqa.loading": "load open_index",
        "polyqa.models": "LMSettings Models language_model",
        "polyqa.question_building": "build_questions",
        "polyqa.questions": "Questions Sets",
        "polyqa.spreading": "spread_index",
        "polyqa.tracing": "traced",
        "polyqa.signatures": "Coverage Interpretation Passage PolyqaError",
    }.items()
    for name in names.split()
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'polyqa' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
