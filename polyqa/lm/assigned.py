"""Which language models a program's predictors have of their own, and what of a language model may be written down."""

import re
from collections.abc import Mapping
from typing import Any

import dspy

from polyqa.base.errors import PolyqaError
from polyqa.base.keys import is_secret

from .calls import kind_of

_USER = re.compile(r"(?<=://)[^/@\s]+@")
_PLACE = re.compile(r"base|url", re.I)


def without_secrets(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings without those that may hold a key, in mappings and lists inside them, too."""
    return {name: _harmless(value) for name, value in settings.items() if not is_secret(str(name))}


def _harmless(value: Any) -> Any:
    """Return a value without keys, and an address without user and password."""
    if isinstance(value, Mapping):
        return without_secrets(value)
    if isinstance(value, (list, tuple)):
        return [_harmless(item) for item in value]
    return _USER.sub("", value) if isinstance(value, str) else value


def sampling(lm: dspy.LM) -> dict[str, Any]:
    """Return what a model is asked with, such as its temperature, and the recording that it replays, if it does."""
    return asked_with(lm.kwargs) | ({"replays": lm.replays} if getattr(lm, "replays", "") else {})


def asked_with(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that change what a model says, by name: those that are set, but for keys and addresses."""
    return {
        name: value
        for name, value in sorted(without_secrets(settings).items())
        if value is not None and not _PLACE.search(name)
    }


def own_lms(program: dspy.Module) -> dict[str, dspy.LM]:
    """Return the predictors that have a language model of their own, by name; the others ask the caller's."""
    return {name: predictor.lm for name, predictor in program.named_predictors() if predictor.lm is not None}


def set_lms(program: dspy.Module, lms: Mapping[str, dspy.LM]) -> None:
    """Give predictors language models of their own, by the names of `own_lms`."""
    predictors = dict(program.named_predictors())
    for name, lm in lms.items():
        predictors[name].lm = lm


def describe_lm(lm: dspy.LM) -> dict[str, Any]:
    """Return which language model it is, and what it is asked with."""
    return {"lm": str(lm.model), **sampling(lm)}


def describe_lms(program: dspy.Module) -> dict[str, dict[str, Any]]:
    """Return for each predictor with a language model of its own which one it is and what it is asked with."""
    return {name: describe_lm(lm) for name, lm in own_lms(program).items()}


def names_of(lms: Mapping[str, dspy.LM]) -> str | None:
    """Return the names of language models with commas between; ``None`` if there are none."""
    return ", ".join(dict.fromkeys(str(lm.model) for lm in lms.values())) or None


def with_cache(program: dspy.Module, cache: bool) -> dspy.Module:
    """Return the program, or a copy if predictors have language models of their own that cache otherwise."""
    lms = {name: lm for name, lm in own_lms(program).items() if lm.cache is not cache}
    if not lms:
        return program
    copies = {id(lm): lm.copy(cache=cache) for lm in lms.values()}  # predictors that share one go on sharing
    copied = program.deepcopy()
    set_lms(copied, {name: copies[id(lm)] for name, lm in lms.items()})
    return copied


def helping_predictors(program: dspy.Module) -> list[str]:
    """Return the names of the predictors that a helper may run: the user never sees their output (`calls.CALLS`).

    That is DIVA's own setting on ASQA (In et al., 2024, https://arxiv.org/abs/2409.02361, implementation details):
    GPT-4 says what is ambiguous, infers what the question could mean and verifies the passages, whatever model answers.
    """
    kinds = {name: kind_of(predictor.signature) for name, predictor in program.named_predictors()}
    return [name for name, kind in kinds.items() if kind is not None and kind.helps]


def give_helper(program: dspy.Module, lm: dspy.LM) -> None:
    """Have a language model run the helping predictors of a program.

    Raises
    ------
    PolyqaError
        If the program has none.
    """
    names = helping_predictors(program)
    if not names:
        raise PolyqaError(
            f"{type(program).__name__} has no call that a helper could make: the user sees all of its replies. Leave "
            "out --helper-lm."
        )
    set_lms(program, dict.fromkeys(names, lm))
