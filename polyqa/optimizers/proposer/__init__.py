"""An embedded writer of instructions: proposes clauses of the library to DSPy's optimizers; no key, no network."""

from .engine import ProposerEngine, proposer_lm

__all__ = ["ProposerEngine", "proposer_lm"]
