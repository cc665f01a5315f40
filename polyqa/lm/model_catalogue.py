"""DSPy's catalogue of models and prices, looked up once for each model.

DSPy looks a model up three times for every call. One that the catalogue does not hold, such as any model of a server of
one's own, has it go through all entries each time: some two milliseconds of a call, with Python's lock held.
"""

from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any

_MODELS = 256  # how many are remembered


@cache
def remember_models() -> None:
    """Have DSPy remember what it has looked up of a model, for the whole process. Safe to call again."""
    from dspy.clients import capabilities, costs, model_metadata

    look_up = model_metadata.model_info

    @lru_cache(maxsize=_MODELS)
    def known(provider: str, model: str, namespaces: tuple[str, ...] | None) -> Mapping[str, Any]:
        return MappingProxyType(look_up(provider, model, namespaces=namespaces))

    def model_info(provider: str, model: str, *, namespaces: Iterable[str] | None = None) -> Mapping[str, Any]:
        return known(provider, model, None if namespaces is None else tuple(namespaces))

    capabilities.model_info = costs.model_info = model_info
