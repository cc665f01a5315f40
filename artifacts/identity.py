"""What tells two programs apart beside their saved state: their settings, and what they search with."""

from dataclasses import is_dataclass
from functools import cached_property
from typing import Any

import dspy
from pydantic import BaseModel

_SCALAR = (bool, int, float, str)
_ABILITIES = ("search", "score", "encode", "read")  # of retrievers, rerankers, encoders and readers


def described_program(program: dspy.Module) -> dict[str, Any]:
    """Return the settings and parts of a program and of the modules in it, as JSON data.

    Of a module, and of the retrievers, rerankers, encoders and readers that it holds, the public attributes
    count: numbers, texts, truth values, tuples, and again such parts; of anything else its kind. Lists and
    mappings may grow with every question and do not count, nor does where a file lies. Predictors are left
    out: `state.dump_program` has them.
    """
    return {
        place: _attributes(module, ())
        for place, module in program.named_sub_modules()
        if not isinstance(module, dspy.Predict)
    }


def _attributes(owner: object, above: tuple[object, ...]) -> dict[str, Any]:
    kind = type(owner)
    return {
        name: _described(value, (*above, owner))
        for name, value in vars(owner).items()
        if not name.startswith("_")
        and not isinstance(value, (list, dict))
        and not isinstance(getattr(kind, name, None), cached_property)  # there or not, it follows from the rest
    }


def _described(value: object, above: tuple[object, ...]) -> Any:
    if value is None or isinstance(value, _SCALAR):
        return value
    if isinstance(value, tuple):
        return [_described(one, above) for one in value]
    if isinstance(value, BaseModel):  # the manifest of an index or a database
        return value.model_dump(mode="json")
    kind = type(value).__name__
    part = any(callable(getattr(value, name, None)) for name in _ABILITIES) or is_dataclass(value)
    own_place = isinstance(value, (type, dspy.Module)) or any(value is one for one in above)
    if not part or own_place or not hasattr(value, "__dict__"):
        return kind
    return {"kind": kind, **_attributes(value, above)}
