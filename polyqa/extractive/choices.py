"""Choices from a list: passages that give other answers (JPR), generated questions that are readings (SIXPAQ)."""

import math

from polyqa.metrics.text import content_words

from .answer_kinds import answer_kind, fits_kind
from .evidence import WORTH_TELLING, Models, gather, same_answer, says_something, telling
from .prompt import Prompt, PromptPassage

# Logistic regression over 500 ASQA training questions and the 15 nearest disambiguated questions of each (label:
# whether it is one of its own).
_BIAS = -14.3
_SIMILARITY = 14.4  # cosine of question and candidate
_WORDS = 5.7  # share of the question's content words in the candidate
_IS_A_READING = 0.5
_STRICTER = {None: 1.0, "certain": 1.5, "possible": 0.5}


def select_passages(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``selected``, greedily.

    All passages are read for the question at once. Time and again the passage whose best supported answer is
    new is chosen; when no supported answer is new, the passages go on in their order.
    """
    passages, count = prompt.passages(), int(prompt.inputs["count"])
    answers = gather(prompt.question, passages, models)
    chosen: dict[int, str] = {}
    for evidence in telling(prompt.question, answers):
        if len(chosen) == count or evidence.support < WORTH_TELLING * answers[0].support:
            break
        is_repeat = any(same_answer(evidence.answer, other) for other in chosen.values())
        if not is_repeat and evidence.passage.number not in chosen:
            chosen[evidence.passage.number] = evidence.answer
    not_chosen = [passage.number for passage in passages if passage.number not in chosen]
    return {"selected": [*chosen, *not_chosen][:count]}


def select_questions(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``kept``: candidates that are near to the question and ask for its kind of answer, each answer once."""
    threshold = _IS_A_READING * _STRICTER[prompt.clauses.certainty]
    chosen: list[PromptPassage] = []
    for candidate, score in _scored(prompt.question, prompt.passages("candidates"), models):
        is_repeat = any(same_answer(candidate.text, one.text) for one in chosen)
        if score >= threshold and says_something(candidate.text, prompt.question) and not is_repeat:
            chosen.append(candidate)
    return {"kept": [candidate.number for candidate in chosen[: prompt.clauses.most]]}


def _scored(question: str, candidates: list[PromptPassage], models: Models) -> list[tuple[PromptPassage, float]]:
    """Return how likely each candidate is a reading, in [0, 1]; 0 if it asks for another kind of answer."""
    if not candidates:
        return []
    near = models.encoder.similarity([question], [one.title for one in candidates])[0]
    kind, question_words = answer_kind(question), set(content_words(question))
    scored = []
    for candidate, similarity in zip(candidates, near, strict=True):
        shared = len(question_words & set(content_words(candidate.title))) / max(1, len(question_words))
        fits = answer_kind(candidate.title) == kind and fits_kind(candidate.text, kind)
        score = fits / (1 + math.exp(-_BIAS - _SIMILARITY * float(similarity) - _WORDS * shared))
        scored.append((candidate, score))
    return scored
