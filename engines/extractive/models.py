"""The two trained models that all skills use."""

from dataclasses import dataclass

from polyqa.embedded_models import Encoder, Reader


@dataclass(frozen=True)
class Models:
    """The sentence encoder and the span reader; both load on first use and remember what they saw."""

    encoder: Encoder
    reader: Reader
