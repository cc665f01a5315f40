"""Many questions: their answers are lines of a file, here or on a cluster, and a stopped job goes on."""

from .answering import Answered, Batch, answer_many
from .asked import Asked

__all__ = ["Answered", "Asked", "Batch", "answer_many"]
