"""The sampling settings of the papers, which `preset="paper"` gives each call, and what a user's model keeps."""

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import dspy
from dspy.utils.exceptions import LMConfigurationError

Sampling = Mapping[str, float]

DIVA_SAMPLING: Sampling = MappingProxyType({"temperature": 0.3, "max_tokens": 300})
"""DIVA, appendix A.4: all calls, those of its baselines, too. Its top_p of 1 is no limit."""

TOC_EXPANSION_SAMPLING: Sampling = MappingProxyType({"temperature": 0.7, "max_tokens": 300})
"""Tree of Clarifications: the calls that expand a node."""

TOC_ANSWER_SAMPLING: Sampling = MappingProxyType({"temperature": 0.0, "max_tokens": 300})
"""Tree of Clarifications: verification and the final answer."""

GREEDY_SAMPLING: Sampling = MappingProxyType({"temperature": 0.0})
"""VERDICT and its baselines: the likeliest words."""

DEFAULT_SAMPLING: Sampling = MappingProxyType({"temperature": 0.3, "max_tokens": 1000})
"""What `polyqa ask` uses: DIVA's, with room for long replies."""

NO_SAMPLING: Sampling = MappingProxyType({})
"""The language model's own."""

_LIMITS = {"max_tokens", "max_completion_tokens"}
_DEPLOYMENT = re.compile(r"/(?:o_series|gpt5_series)/|(?:^|[/_.-])(?:o[134]|gpt-?5(?!-chat))(?:$|[_.-])")
"""A deployment of Azure has any name; LiteLLM takes those with such a part in it for models that reason."""
SAMPLED = ("temperature", "top_p", "max_tokens")
"""The settings of a preset, all of which a model that reasons has of its own."""


def keep(lm: dspy.LM, names: set[str]) -> dspy.LM:
    """Say that a language model keeps settings that its user chose, whatever a preset has; return it."""
    lm.polyqa_keeps = frozenset(names)
    return lm


def sampling_for(lm: object, preset_sampling: Sampling) -> dict[str, Any]:
    """Return those of a preset's sampling settings that a call gives a language model.

    What the user chose himself (`keep`) stays, so does the temperature of a copy by which an optimizer wants another
    reply, and a model that reasons samples as it likes.
    """
    chosen: frozenset[str] = getattr(lm, "polyqa_keeps", frozenset())
    if isinstance(lm, dspy.LM) and lm.kwargs.get("rollout_id") is not None:
        chosen |= {"temperature"}
    if not preset_sampling or (isinstance(lm, dspy.LM) and reasons(str(lm.model))):
        return {}
    return {
        name: value
        for name, value in preset_sampling.items()
        if name not in chosen and not (name in _LIMITS and chosen & _LIMITS)
    }


@lru_cache(maxsize=64)
def reasons(name: str) -> bool:
    """Return whether a model reasons by its name, so that it takes neither a low temperature nor a short limit.

    >>> [name for name in ("openai/gpt-5-mini", "azure/o3", "openai/gpt-4o", "openai/gpt-5-chat") if reasons(name)]
    ['openai/gpt-5-mini', 'azure/o3']
    >>> [name for name in ("azure/my-o3-deployment", "azure/o_series/mine", "azure/pro3") if reasons(name)]
    ['azure/my-o3-deployment', 'azure/o_series/mine']
    """
    deployment = name.startswith("azure/") and _DEPLOYMENT.search(name)
    return bool(deployment) or dspy_knows_that_it_reasons(name.partition(":")[0])


def dspy_knows_that_it_reasons(name: str) -> bool:
    """Return whether DSPy refuses a low temperature and a short limit for a model: it has no other way to ask."""
    try:
        dspy.LM(name, temperature=0.5, max_tokens=1)
    except LMConfigurationError:
        return True
    return False
