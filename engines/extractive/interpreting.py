"""Verified diversification: the one reading that a single passage answers, or none."""

from polyqa.signatures.lenient import is_null

from .extracting import reading_of
from .models import Models
from .prompt import Prompt, parse_passages
from .reading import Evidence, gather
from .text import answer_kind, fits_kind, normalize
from .thresholds import best_cut

NULL = "null"
DEFAULT_THRESHOLD = 0.2
_SPANS = 3


def interpret_passage(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``interpretation`` and ``short_answer``: the passage's best span, or null below the threshold.

    Demos that abstain or do not move the threshold: of all that separate them with the fewest errors, the
    one nearest to the default is taken.
    """
    question = prompt.inputs["question"]
    best = _best(question, prompt.inputs.get("passage", ""), models)
    if best is None or best.support < _threshold(prompt, models):
        return {"interpretation": NULL, "short_answer": NULL}
    return {"interpretation": reading_of(question, best), "short_answer": best.span.text.strip(" .,;:")}


def _best(question: str, passage: str, models: Models) -> Evidence | None:
    found = gather(question, parse_passages(passage), models, keep=_SPANS, ranked=False)
    kind, asked = answer_kind(question), f" {normalize(question)} "
    return next(
        (
            evidence
            for evidence in found
            if fits_kind(evidence.span.text, kind)
            and normalize(evidence.span.text)
            and f" {normalize(evidence.span.text)} " not in asked
        ),
        None,
    )


def _threshold(prompt: Prompt, models: Models) -> float:
    labelled = []
    for demo in prompt.demos:
        if {"question", "passage"} <= demo.inputs.keys() and "interpretation" in demo.outputs:
            best = _best(demo.inputs["question"], demo.inputs["passage"], models)
            labelled.append((best.support if best else 0.0, not is_null(demo.outputs["interpretation"])))
    return best_cut(labelled, DEFAULT_THRESHOLD)
