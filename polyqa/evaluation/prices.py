"""What tokens cost, by the price list that comes with DSPy."""

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from polyqa.extractive import MODEL_NAME


@dataclass(frozen=True)
class Price:
    """The price of a language model.

    Attributes
    ----------
    input, output
        US dollars for each token of a prompt and of a reply.
    reasons
        Whether the model may think before it replies, which is billed as output.
    """

    input: float
    output: float
    reasons: bool = False

    def of(self, input_tokens: float, output_tokens: float) -> float:
        """Return dollars."""
        return input_tokens * self.input + output_tokens * self.output


def price_of(lm: str) -> Price | None:
    """Return the price of a language model, ``provider/model``; ``None`` if it is not in DSPy's price list.

    An unknown price is not zero. `groq/x` is not billed as another provider's `x`.
    """
    if lm == MODEL_NAME or lm.partition("/")[0] == "local":  # both run on this machine
        return Price(0.0, 0.0)
    from dspy.clients.model_metadata import rate

    provider, _, model = lm.partition("/")
    listed = _price_list()
    bare = listed.get(model, {})
    entry = listed.get(lm) or (bare if str(bare.get("litellm_provider", "")).startswith(provider) else {})
    prices = [rate(entry, f"{direction}_cost_per_token") for direction in ("input", "output")]
    if prices[0] is None or prices[1] is None:
        return None
    return Price(prices[0], prices[1], reasons=bool(entry.get("supports_reasoning")))


@lru_cache(maxsize=1)
def _price_list() -> Mapping[str, Mapping[str, Any]]:
    """Return the list as DSPy ships it; its `model_info` would ask the network for a newer one."""
    packed = files("dspy.clients.model_metadata").joinpath("snapshot.json.gz").read_bytes()
    return dict(json.loads(gzip.decompress(packed)))
