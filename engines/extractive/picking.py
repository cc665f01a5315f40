"""Selection of generated questions: which of them are readings of the asked one."""

import math
from collections.abc import Sequence

from polyqa.signatures.lenient import parse_numbers

from .models import Models
from .prompt import Prompt, PromptPassage, parse_passages
from .text import answer_kind, content_words, fits_kind, holds, normalize
from .thresholds import best_cut

# Logistic regression over 500 ASQA training questions and the 15 nearest disambiguated questions of each (label:
# whether it is one of its own; area under the ROC curve 0.995, as the others are seldom about the same name).
_BIAS = -14.3
_SIMILARITY = 14.4  # cosine of question and candidate
_WORDS = 5.7  # share of the question's content words in the candidate
_THRESHOLD = 0.5


def select_questions(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``kept``: candidates that are near to the question and ask for its kind of answer, each answer once.

    Demos move how near a candidate must be: of all thresholds that separate their kept candidates from the
    others with the fewest errors, the one nearest to the default is taken.
    """
    question = prompt.inputs["question"]
    candidates = parse_passages(prompt.inputs.get("candidates", ""))
    threshold = _threshold(prompt, models)
    kept: list[PromptPassage] = []
    for candidate, score in zip(candidates, _scores(question, candidates, models), strict=True):
        answer = candidate.text
        known = any(holds(answer, one.text) or holds(one.text, answer) for one in kept)
        if score >= threshold and normalize(answer) and not known and not holds(question, answer):
            kept.append(candidate)
    return {"kept": [candidate.number for candidate in kept]}


def _scores(question: str, candidates: Sequence[PromptPassage], models: Models) -> list[float]:
    """Return how likely each candidate is a reading, in [0, 1]; 0 if it asks for another kind of answer."""
    if not candidates:
        return []
    near = models.encoder.similarity([question], [one.title for one in candidates])[0]
    kind, asked = answer_kind(question), set(content_words(question))
    scores = []
    for candidate, similarity in zip(candidates, near, strict=True):
        shared = len(asked & set(content_words(candidate.title))) / max(1, len(asked))
        fits = answer_kind(candidate.title) == kind and fits_kind(candidate.text, kind)
        scores.append(fits / (1 + math.exp(-_BIAS - _SIMILARITY * float(similarity) - _WORDS * shared)))
    return scores


def _threshold(prompt: Prompt, models: Models) -> float:
    labelled: list[tuple[float, bool]] = []
    for demo in prompt.demos:
        if {"question", "candidates"} <= demo.inputs.keys() and "kept" in demo.outputs:
            candidates = parse_passages(demo.inputs["candidates"])
            kept = set(parse_numbers(demo.outputs["kept"]))
            scores = _scores(demo.inputs["question"], candidates, models)
            labelled += [(score, one.number in kept) for one, score in zip(candidates, scores, strict=True)]
    return best_cut(labelled, _THRESHOLD)
