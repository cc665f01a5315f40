"""Many questions: each answer is a line of a file as it ends, here or on a cluster, and a stopped job goes on."""

from .answering import Batch, answer_many
from .asked import Asked
from .lines import Answered

__all__ = ["Answered", "Asked", "Batch", "answer_many"]
