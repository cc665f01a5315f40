"""Worked examples for the calls of `spanwise.Spanwise`.

The passages and all words of ``finding_examples.json`` are our own; what they say is common knowledge that does not
change.
"""

import json
from copy import deepcopy
from functools import cache
from importlib.resources import files
from typing import Any

import dspy


def finding_demos(signature: type[dspy.Signature]) -> list[dict[str, Any]]:
    """Return the worked examples as demos of `VerifyFinding` or `TellFindings`."""
    return deepcopy(_examples()[signature.__name__])


@cache  # whether demos are the shipped ones is asked for every question
def _examples() -> dict[str, list[dict[str, Any]]]:
    examples: dict[str, list[dict[str, Any]]]
    examples = json.loads(files(__package__).joinpath("finding_examples.json").read_text(encoding="utf-8"))
    return examples
