"""Answer detection: which spans of a passage a person might ask for."""

from .asking import questions_for
from .candidates import candidate_spans
from .models import Models
from .prompt import Prompt, parse_passages

_MOST = 8


def detect_answers(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``answers``: at most eight spans, those to which a question leads first, else in the passage's order."""
    passage = parse_passages(prompt.inputs.get("passage", ""))[0]
    found = candidate_spans(passage)
    asked = [span for span in found if next(questions_for(passage, span), None)]
    return {"answers": [*asked, *(span for span in found if span not in asked)][:_MOST]}
