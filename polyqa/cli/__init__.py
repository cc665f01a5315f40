"""The command line: `polyqa`."""

from .app import app
from .process import main

__all__ = ["app", "main"]
