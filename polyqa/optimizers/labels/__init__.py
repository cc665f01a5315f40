"""Demos from the labels of training questions."""

from .demos import NO_DEMOS, label_demos
from .shown import Demo

__all__ = ["NO_DEMOS", "Demo", "label_demos"]
