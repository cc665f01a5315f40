"""Demos from the labels of training questions."""

from .demos import label_demos
from .shown import Demo

__all__ = ["Demo", "label_demos"]
