"""An embedded writer of instructions: proposes clauses of the library to DSPy's optimizers; no key, no network."""

from .engine import PROPOSER, ProposerEngine, proposer_lm

__all__ = ["PROPOSER", "ProposerEngine", "proposer_lm"]
