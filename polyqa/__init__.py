"""Answers ambiguous questions completely, over your own corpus, with sources.

>>> import polyqa
>>> result = polyqa.ask("When did Titanic come out?")  # doctest: +SKIP
>>> result.answer, result.interpretations  # doctest: +SKIP

Everything here loads lazily: importing polyqa imports neither torch nor DSPy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._shadowing import check_packages

check_packages()

if TYPE_CHECKING:
    from colbert_index import ColBERTIndex, build_index
    from engines.extractive import embedded_lm
    from signatures import Coverage, Interpretation, Passage, PolyqaError

    from .asking import Result, aask, ask
    from .compiling import compile
    from .composition import language_model, load, open_index
    from .evaluating import evaluate

__version__ = "0.1.0"

_HOMES = {
    "ColBERTIndex": "colbert_index",
    "Coverage": "signatures",
    "Interpretation": "signatures",
    "Passage": "signatures",
    "PolyqaError": "signatures",
    "Result": "polyqa.asking",
    "aask": "polyqa.asking",
    "ask": "polyqa.asking",
    "build_index": "colbert_index",
    "compile": "polyqa.compiling",
    "embedded_lm": "engines.extractive",
    "evaluate": "polyqa.evaluating",
    "language_model": "polyqa.composition",
    "load": "polyqa.composition",
    "open_index": "polyqa.composition",
}

__all__ = [
    "ColBERTIndex",
    "Coverage",
    "Interpretation",
    "Passage",
    "PolyqaError",
    "Result",
    "aask",
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
