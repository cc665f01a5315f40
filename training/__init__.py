"""What the training commands share: data, hard negatives, features, the loop, checkpoints.

Importing it loads no model. The commands are ``python -m polyqa.training.train_reader`` and
``python -m polyqa.training.train_colbert``.
"""

from .errors import TrainingError

__all__ = ["TrainingError"]
