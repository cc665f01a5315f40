"""What workers of a cluster are told so that each makes the same program and models: names."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import dspy

from polyqa.base.errors import PolyqaError
from polyqa.colbert_index import ColBERTIndex
from polyqa.colbert_index.spread import SpreadIndex

from .language_models import Models


def for_workers(
    program: str | Path | dspy.Module, settings: Mapping[str, Any], models: Models, workers: int = 1
) -> tuple[str, dict[str, Any], Models]:
    """Return program, settings and models as names and values that travel.

    Paths become whole ones, as workers run in folders of their own. The language model that DSPy has set here is named.
    Each worker gets its share of the requests that the provider allows.

    Raises
    ------
    PolyqaError
        If the program or a model is an object, which belongs to this process.
    """
    if isinstance(program, dspy.Module):
        raise PolyqaError("On a cluster each worker makes the program: hand over its name, or a compiled one's.")
    own = models.settings
    if own.requests_per_minute is not None:
        own = replace(own, requests_per_minute=own.requests_per_minute / workers)
    named = replace(models, lm=models.chosen_lm, settings=own)  # workers have DSPy settings of their own
    parts = {"lm": named.lm, "helper_lm": named.helper_lm, "reader": named.reader, "judge": named.judge}
    for name, model in parts.items():
        if model is not None and not isinstance(model, str):
            raise PolyqaError(f"On a cluster each worker makes the models: give {name} by its name, not as an object.")
    return _whole(program), {name: _travelling(value) for name, value in settings.items()}, named


def _whole(name: str | Path) -> str:
    return str(Path(name).absolute()) if Path(name).exists() else str(name)


def _travelling(value: Any) -> Any:
    if isinstance(value, ColBERTIndex) and not isinstance(value, SpreadIndex):
        return str(value.path)
    return _whole(value) if isinstance(value, Path) else value
