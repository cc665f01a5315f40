"""A language model without weights for language: it reads, compares and quotes."""

from .engine import MODEL_NAME, AsyncExtractiveEngine, ExtractiveEngine, embedded_lm

PROPOSER = "polyqa/proposer"
"""Writes instructions where the embedded engine answers, see `polyqa.optimizers.proposer`."""

__all__ = ["MODEL_NAME", "PROPOSER", "AsyncExtractiveEngine", "ExtractiveEngine", "embedded_lm"]
