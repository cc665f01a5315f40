"""Compiled programs as they are kept: the state of their predictors, a card, and what tells two programs apart."""

from .card import Card
from .identity import changes, identity, identity_hash
from .state import dump_program, load_program, program_hash, signature_fingerprints
from .store import Artifact, artifact_names, compiled_home, find_artifact, read_artifact, save_artifact

__all__ = [
    "Artifact",
    "Card",
    "artifact_names",
    "changes",
    "compiled_home",
    "dump_program",
    "find_artifact",
    "identity",
    "identity_hash",
    "load_program",
    "program_hash",
    "read_artifact",
    "save_artifact",
    "signature_fingerprints",
]
