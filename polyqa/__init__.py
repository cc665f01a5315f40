"""Answers ambiguous questions completely, over your own corpus, with sources.

>>> import polyqa
>>> result = polyqa.ask("When did Titanic come out?")  # doctest: +SKIP
>>> result.answer, result.interpretations  # doctest: +SKIP

Everything here loads lazily: importing polyqa imports neither torch nor DSPy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polyqa.colbert_index import ColBERTIndex, build_index
    from polyqa.engines.extractive import embedded_lm
    from polyqa.signatures import Coverage, Interpretation, Passage, PolyqaError

    from .adapting import adapt
    from .asking import Result, aask, ask
    from .compiling import Budget, compile
    from .evaluating import evaluate
    from .loading import load, open_index
    from .models import Models, language_model
    from .questions import Questions, Sets

__version__ = "0.1.0"

_HOMES = {
    "Budget": "polyqa.compiling",
    "ColBERTIndex": "polyqa.colbert_index",
    "Coverage": "polyqa.signatures",
    "Interpretation": "polyqa.signatures",
    "Models": "polyqa.models",
    "Passage": "polyqa.signatures",
    "PolyqaError": "polyqa.signatures",
    "Questions": "polyqa.questions",
    "Result": "polyqa.asking",
    "Sets": "polyqa.questions",
    "aask": "polyqa.asking",
    "adapt": "polyqa.adapting",
    "ask": "polyqa.asking",
    "build_index": "polyqa.colbert_index",
    "compile": "polyqa.compiling",
    "embedded_lm": "polyqa.engines.extractive",
    "evaluate": "polyqa.evaluating",
    "language_model": "polyqa.models",
    "load": "polyqa.loading",
    "open_index": "polyqa.loading",
}

__all__ = [
    "Budget",
    "ColBERTIndex",
    "Coverage",
    "Interpretation",
    "Models",
    "Passage",
    "PolyqaError",
    "Questions",
    "Result",
    "Sets",
    "aask",
    "adapt",
    "ask",
    "build_index",
    "compile",
    "embedded_lm",
    "evaluate",
    "language_model",
    "load",
    "open_index",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'polyqa' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
