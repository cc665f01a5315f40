"""The command line: `polyqa`."""

from .app import app, main

__all__ = ["app", "main"]
