"""What tokens cost: LiteLLM's price list, the copy in its package; nothing is downloaded."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from polyqa.extractive import MODEL_NAME

_LIST = "model_prices_and_context_window_backup.json"
CACHED_FROM = 1024
"""Tokens: the least that OpenAI, and Anthropic for most models, cache of a prompt."""


@dataclass(frozen=True)
class Price:
    """The price of a language model, in US dollars for each token.

    Attributes
    ----------
    input, output
        Of a prompt and of a reply.
    cached
        Of the beginning of a prompt that the provider has cached; ``None`` if the list has no such price.
    cached_from
        How many tokens prompts must begin alike with for these to be cached.
    reasons
        Whether the model may think before it replies, which is billed as output.
    """

    input: float
    output: float
    cached: float | None = None
    cached_from: int = CACHED_FROM
    reasons: bool = False

    def of(self, input_tokens: float, output_tokens: float, cached_tokens: float = 0) -> float:
        """Return dollars; the cached tokens are some of the input's."""
        cached = self.input if self.cached is None else self.cached
        return (input_tokens - cached_tokens) * self.input + cached_tokens * cached + output_tokens * self.output


def price_of(lm: str) -> Price | None:
    """Return the price of a language model, ``provider/model``; ``None`` if the list does not have it."""
    if lm == MODEL_NAME:
        return Price(0.0, 0.0)
    entry = _entry(lm)
    if entry is None or entry.get("input_cost_per_token") is None:
        return None
    return Price(
        input=float(entry["input_cost_per_token"]),
        output=float(entry.get("output_cost_per_token") or 0.0),
        cached=entry.get("cache_read_input_token_cost"),
        cached_from=int(entry.get("prompt_cache_min_tokens") or CACHED_FROM),
        reasons=bool(entry.get("supports_reasoning")),
    )


def _entry(lm: str) -> Mapping[str, Any] | None:
    prices = _prices()
    provider, _, model = lm.partition("/")
    bare = prices.get(model)
    # A name without its provider may be another provider's model: `groq/x` is not billed as somebody else's `x`.
    own = bare if bare is not None and str(bare.get("litellm_provider", "")).startswith(provider) else None
    return prices.get(lm) or own


def litellm_folders() -> list[Path]:
    """Return where LiteLLM is installed; importing it takes long, and asks the network for a newer price list."""
    litellm = find_spec("litellm")
    return [Path(folder) for folder in litellm.submodule_search_locations or ()] if litellm is not None else []


@lru_cache(maxsize=1)
def _prices() -> Mapping[str, Mapping[str, Any]]:
    for folder in litellm_folders():
        path = folder / _LIST
        if path.is_file():
            return dict(json.loads(path.read_text(encoding="utf-8")))
    return {}
