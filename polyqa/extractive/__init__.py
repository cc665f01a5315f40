"""A language model without weights for language: it reads, compares and quotes."""

from .engine import MODEL_NAME, AsyncExtractiveEngine, ExtractiveEngine, embedded_lm

__all__ = ["MODEL_NAME", "AsyncExtractiveEngine", "ExtractiveEngine", "embedded_lm"]
