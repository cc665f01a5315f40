"""Worked examples for the calls of `spanwise.Spanwise`.

The passages and all words of ``finding_examples.json`` are our own; what they say is common knowledge that does not
change.
"""

import json
from importlib.resources import files
from typing import Any

import dspy


def finding_demos(signature: type[dspy.Signature]) -> list[dict[str, Any]]:
    """Return the worked examples as demos of `VerifyFinding` or `TellFindings`."""
    text = files(__package__).joinpath("finding_examples.json").read_text(encoding="utf-8")
    demos: list[dict[str, Any]] = json.loads(text)[signature.__name__]
    return demos
