"""Tells whether two runs were asked the same questions."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from polyqa.metrics.gold import Question

_LENGTH = 16


def questions_fingerprint(questions: Iterable[Question]) -> str:
    """Return 16 hexadecimal characters that stand for the questions.

    They are the beginning of the SHA-256 of the questions as JSON with sorted keys, no spaces and ASCII
    only. Everything that a question holds counts, and so does the order: it is what was loaded that is
    told apart, not the file that it came from. ``other_questions`` stand in the JSON only where there are some.
    """
    data = [asdict(question, dict_factory=_shown) for question in questions]
    canonical = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()[:_LENGTH]


def _shown(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in fields if value or name != "other_questions"}
