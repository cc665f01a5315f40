"""What tells two programs apart: their saved state, their settings, and what they search with."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from functools import cached_property
from inspect import signature
from typing import Any

import dspy
from pydantic import BaseModel

from polyqa.lm.assigned import asked_with

from .state import program_hash

_SCALAR = (bool, int, float, str)
_ABILITIES = ("search", "score", "encode", "read")  # of retrievers, rerankers, encoders and readers
_OF_EVERY_MODULE = signature(dspy.Module.__init__).parameters.keys()


def identity(program: dspy.Module) -> dict[str, Any]:
    """Return what makes a program this one, as flat JSON data: its class, its saved state, its settings and parts.

    Two programs of the same identity give the same answers; a stopped run or compilation goes on with no other.

    Of a program's modules, and of the retrievers, rerankers, encoders and readers that they hold, the public
    attributes count: numbers, texts, truth values, tuples, and again such parts; of anything else its kind. A list
    or a mapping counts if a module's constructor takes it: others may grow with every question. Where a file lies
    does not count. Of predictors, `state.dump_program` has everything but the encoder, and what their calls ask with,
    such as a temperature.
    """
    parts = {
        place.partition(".")[2]: {
            "encoder": _described(getattr(module, "encoder", None), ()),
            "config": _described(asked_with(module.config), ()),
        }
        if isinstance(module, dspy.Predict)
        else _attributes(module, ())
        for place, module in program.named_sub_modules()
    }
    top = dict(_flat({"class": type(program).__name__, "state": program_hash(program), **parts.pop("", {})}))
    return top | dict(_flat(parts))


def identity_hash(program: dspy.Module) -> str:
    """Return 16 hex digits over `identity`."""
    text = json.dumps(identity(program), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _flat(data: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in data.items():
        if isinstance(value, list) and any(isinstance(part, dict) for part in value):
            value = dict(enumerate(value))
        if isinstance(value, dict):
            yield from ((f"{name}.{inner}", part) for inner, part in _flat(value))
        else:
            yield name, value


def _attributes(owner: object, above: tuple[object, ...]) -> dict[str, Any]:
    kind = type(owner)
    settings = signature(kind.__init__).parameters.keys() - _OF_EVERY_MODULE if issubclass(kind, dspy.Module) else ()
    return {
        name: _described(value, (*above, owner))
        for name, value in vars(owner).items()
        if not name.startswith("_")
        and (name in settings or not isinstance(value, (list, dict)))
        and not isinstance(getattr(kind, name, None), cached_property)  # there or not, it follows from the rest
    }


def _described(value: object, above: tuple[object, ...]) -> Any:
    if value is None or isinstance(value, _SCALAR):
        return value
    own_place = isinstance(value, (type, dspy.Module)) or any(value is part for part in above)
    if isinstance(value, (tuple, list)) and not own_place:
        return [_described(part, (*above, value)) for part in value]
    if isinstance(value, dict) and not own_place:
        return {str(name): _described(part, (*above, value)) for name, part in value.items()}
    if isinstance(value, BaseModel):  # the manifest of an index or a database
        return value.model_dump(mode="json")
    kind = type(value).__name__
    part = any(callable(getattr(value, name, None)) for name in _ABILITIES) or is_dataclass(value)
    if not part or own_place or not hasattr(value, "__dict__"):
        return kind
    return {"kind": kind, **_attributes(value, above)}
