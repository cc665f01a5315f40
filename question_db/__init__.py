"""Questions made from a corpus by SIXPAQ's steps: detection, generation, verification, revision."""

from .generation import generate_questions
from .types import Counts, GeneratedQuestion, Generation

__all__ = ["Counts", "GeneratedQuestion", "Generation", "generate_questions"]
