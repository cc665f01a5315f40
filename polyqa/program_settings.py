"""The settings of a program: what its constructor takes beside its parts, checked before it is called."""

from collections.abc import Mapping
from inspect import Parameter, signature
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError

from polyqa.base.errors import PolyqaError
from polyqa.programs.base import Settings
from polyqa.programs.registry import program_class

_PARTS = ("encoder",)  # keywords that loading fills


def setting_types(program: str) -> dict[str, Any]:
    """Return the settings of a program, by name, with their types: its own first, those of every program last."""
    constructor = program_class(program).__init__
    types = get_type_hints(constructor)
    own: dict[str, Any] = {}
    shared: dict[str, Any] = {}
    for name, parameter in signature(constructor).parameters.items():
        if parameter.kind is Parameter.KEYWORD_ONLY:
            own[name] = types[name]
        elif parameter.kind is Parameter.VAR_KEYWORD:  # **settings: Unpack[…], those of the class above
            shared = get_type_hints(get_args(types[name])[0])
    every = sorted({**own, **shared}.items(), key=lambda pair: pair[0] in Settings.__annotations__)
    return {name: kind for name, kind in every if name not in _PARTS}


def checked_settings(program: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as the types that a program's constructor names.

    A text that means a value of the type is taken as such: ``"False"`` is no true text but false.

    Raises
    ------
    PolyqaError
        If the program has no such setting, or a value is not of its type.
    """
    types = setting_types(program)
    return {name: _checked(program, name, value, types) for name, value in settings.items()}


def _checked(program: str, name: str, value: Any, types: Mapping[str, Any]) -> Any:
    known = ", ".join(f"{own} ({_described(kind)})" for own, kind in types.items())
    if name not in types:
        raise PolyqaError(f"{program} has no setting {name!r:.80}; its settings: {known}.")
    try:
        checked = TypeAdapter(types[name]).validate_python(value.strip() if isinstance(value, str) else value)
    except (ValidationError, OverflowError):
        fits = False
    else:  # pydantic takes true for the number 1; who writes passages=true made a mistake
        fits = isinstance(checked, bool) or not isinstance(value, bool)
    if not fits:
        raise PolyqaError(
            f"The setting {name} of {program} is {_described(types[name])}, not {value!r:.80}; its settings: {known}."
        )
    return checked


def _described(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return " or ".join(map(str, get_args(kind)))
    if kind is bool:
        return "true or false"
    return kind.__name__ if isinstance(kind, type) and not get_args(kind) else str(kind)
