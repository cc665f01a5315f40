"""Demos from the labels of training questions."""

from .demos import NO_DEMOS, label_demos

__all__ = ["NO_DEMOS", "label_demos"]
