"""Self-verification: does the passage make a short answer a right one to the root question?"""

from .models import Models
from .prompt import Prompt, parse_passages
from .reading import gather
from .text import answer_kind, fits_kind, holds

_SPANS = 3
# A candidate is fitting if its support is at least this part of the passage's best span's.
_RELATIVE_SUPPORT = 0.35
_LEAST_SUPPORT = 0.05


def verify_against_root(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``fitting``: Yes iff the reader, asked the root question, finds the candidate among its best spans."""
    question, candidate = prompt.inputs["question"], prompt.inputs.get("candidate", "")
    found = gather(question, parse_passages(prompt.inputs.get("passage", "")), models, keep=_SPANS, ranked=False)
    if not found or not candidate.strip() or not fits_kind(candidate, answer_kind(question)):
        return {"fitting": "No"}
    least = max(_LEAST_SUPPORT, _RELATIVE_SUPPORT * found[0].support)
    fitting = any(
        evidence.support >= least and (holds(evidence.span.text, candidate) or holds(candidate, evidence.span.text))
        for evidence in found
    )
    return {"fitting": "Yes" if fitting else "No"}
