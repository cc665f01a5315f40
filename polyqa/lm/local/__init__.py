"""A language model on this machine, offline: llama.cpp in a process of its own, asked like any other `dspy.LM`."""

from .engine import LocalEngine as LocalEngine
from .engine import LocalLM as LocalLM
from .engine import shared_engine as shared_engine
from .process import LocalServer as LocalServer
from .process import LocalSettings as LocalSettings
from .process import local_settings as local_settings
from .process import physical_cores as physical_cores
