"""Artifacts and question sets on the Hugging Face hub: data only, checked before they leave and when they come."""

from .pulling import Pulled, pull
from .pushing import Pushed, push

__all__ = ["Pulled", "Pushed", "pull", "push"]
