"""A language model on this machine, offline: llama.cpp in a process of its own, asked like any other `dspy.LM`."""

from .engine import LocalEngine, LocalLM, shared_engine
from .process import LocalServer, LocalSettings, free_memory, local_settings, needed_memory, physical_cores

__all__ = [
    "LocalEngine",
    "LocalLM",
    "LocalServer",
    "LocalSettings",
    "free_memory",
    "local_settings",
    "needed_memory",
    "physical_cores",
    "shared_engine",
]
