"""Worked examples that calls show.

``worked_examples.json`` has five for the calls of DIVA that see no passage (Tables 7, 8 and 12 of In et al., 2024): one
for each kind of ambiguity, as in Table 7, and two of them have two kinds. ``passage_examples.json`` has five for calls
that read one passage, two of which do not answer. ``finding_examples.json`` has those of `spanwise.Spanwise`.
Questions, passages and all words are our own, none is of a data set; what they say is common knowledge that does not
change.
"""

import json
from copy import deepcopy
from functools import cache
from importlib.resources import files
from typing import Any

import dspy

_TABLES = ("worked_examples", "passage_examples")


def worked_demos(signature: type[dspy.Signature]) -> list[dict[str, Any]]:
    """Return the worked examples of a signature as demos; none if there are none."""
    for examples in map(read_examples, _TABLES):
        if signature.fields.keys() <= examples[0].keys():
            return [{name: deepcopy(example[name]) for name in signature.fields} for example in examples]
    return []


def finding_demos(signature: type[dspy.Signature]) -> list[dict[str, Any]]:
    """Return the worked examples as demos of `VerifyFinding` or `TellFindings`."""
    return deepcopy(read_examples("finding_examples")[signature.__name__])


@cache  # whether demos are the shipped ones is asked for every question
def read_examples(name: str) -> Any:
    """Return what a file of examples holds: a list, or one for each signature."""
    return json.loads(files(__package__).joinpath(f"{name}.json").read_text(encoding="utf-8"))
