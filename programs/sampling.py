"""The sampling settings of the papers, for `dspy.LM`: ``dspy.LM("openai/gpt-4o", **DIVA_SAMPLING)``."""

from types import MappingProxyType

DIVA_SAMPLING = MappingProxyType({"temperature": 0.3, "top_p": 1.0, "max_tokens": 300})
"""DIVA, appendix A.4: all calls."""

TOC_EXPANSION_SAMPLING = MappingProxyType({"temperature": 0.7, "max_tokens": 300})
"""Tree of Clarifications: the calls that expand a node."""

TOC_ANSWER_SAMPLING = MappingProxyType({"temperature": 0.0, "max_tokens": 300})
"""Tree of Clarifications: verification and the final answer."""

DEFAULT_SAMPLING = MappingProxyType({"temperature": 0.3, "top_p": 1.0, "max_tokens": 1000})
"""What `polyqa ask` uses: DIVA's, with room for the JSON of today's adapters."""
