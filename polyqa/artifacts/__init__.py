"""Compiled programs as they are kept: the state of their predictors, a card, and what tells two programs apart."""

from polyqa.lm.assigned import describe_lms, own_lms, sampling, set_lms

from .card import Card
from .identity import identity, identity_hash
from .state import dump_program, load_program, program_hash, signature_fingerprints
from .store import Artifact, artifact_names, compiled_home, find_artifact, read_artifact, save_artifact

__all__ = [
    "Artifact",
    "Card",
    "artifact_names",
    "compiled_home",
    "describe_lms",
    "dump_program",
    "find_artifact",
    "identity",
    "identity_hash",
    "load_program",
    "own_lms",
    "program_hash",
    "read_artifact",
    "sampling",
    "save_artifact",
    "set_lms",
    "signature_fingerprints",
]
