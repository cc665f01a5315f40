"""The settings of a program: what its constructor takes beside its parts, checked before it is called."""

from collections.abc import Mapping
from inspect import Parameter, signature
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError

from polyqa.base.errors import PolyqaError
from polyqa.programs.base import Settings
from polyqa.programs.registry import registered

_PARTS = ("encoder", "source_reader")  # keywords that loading fills


def setting_types(program: str) -> dict[str, Any]:
    """Return the settings of a program, by name, with their types: its own first, those of every program last."""
    constructor = registered(program).program.__init__
    types = get_type_hints(constructor)
    declared: dict[str, Any] = {}
    shared: dict[str, Any] = {}
    for name, parameter in signature(constructor).parameters.items():
        if parameter.kind is Parameter.KEYWORD_ONLY:
            declared[name] = types[name]
        elif parameter.kind is Parameter.VAR_KEYWORD:  # **settings: Unpack[…], those of the class above
            shared = get_type_hints(get_args(types[name])[0])
    pairs = sorted({**declared, **shared}.items(), key=lambda pair: pair[0] in Settings.__annotations__)
    return {name: kind for name, kind in pairs if name not in _PARTS}


def checked_settings(program: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as the types that a program's constructor names.

    A text that means a value of the type is taken as such: ``"False"`` is no true text but false.

    Raises
    ------
    PolyqaError
        If the program has no such setting, or a value is not of its type.
    """
    types = setting_types(program)
    listing = ", ".join(f"{name} ({_described(kind)})" for name, kind in types.items())
    checked = {}
    for name, value in settings.items():
        if name not in types:
            raise PolyqaError(f"{program} has no setting {name!r:.80}; its settings: {listing}.")
        try:
            checked[name] = TypeAdapter(types[name]).validate_python(value.strip() if isinstance(value, str) else value)
            fits = isinstance(checked[name], bool) or not isinstance(value, bool)  # pydantic takes true for 1
        except (ValidationError, OverflowError):
            fits = False
        if not fits:
            kind = _described(types[name])
            raise PolyqaError(f"The setting {name} of {program} is {kind}, not {value!r:.80}; its settings: {listing}.")
    return checked


def _described(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return " or ".join(map(str, get_args(kind)))
    if kind is bool:
        return "true or false"
    return kind.__name__ if isinstance(kind, type) and not get_args(kind) else str(kind)
