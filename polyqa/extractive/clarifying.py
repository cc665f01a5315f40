"""Readings and long answer in one reply: the two skills, one after the other."""

import json
from dataclasses import replace

from .evidence import Models
from .long_answers import compose_answer
from .prompt import Prompt
from .readings import extract_interpretations


def clarify(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``interpretations`` and ``answer``: what two calls would fill that show the same demos."""
    extracted = extract_interpretations(prompt, models)
    shown = json.dumps(extracted["interpretations"], ensure_ascii=False)
    return {**extracted, **compose_answer(replace(prompt, inputs={**prompt.inputs, "interpretations": shown}), models)}
