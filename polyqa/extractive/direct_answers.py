"""Answers to a question alone, of which this engine knows nothing, and to any question of a text in the prompt.

The latter are of signatures of a user's own: ``context, question -> answer`` and the like.
"""

from collections.abc import Collection

from polyqa.metrics.text import sentence_at
from polyqa.replies import parse_interpretations

from .evidence import Evidence, Models, gather, telling
from .long_answers import opening_of, statement
from .prompt import Prompt, PromptPassage, evidence_in

ANSWER, QUESTION = "answer", "question"
_WHY = frozenset({"reasoning", "rationale", "explanation"})
_LEAST_SUPPORT = 0.05
UNKNOWN = "unknown"
NOT_KNOWN = "I do not know."


def answer_closed_book(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``answer``: it is not known."""
    return {"answer": NOT_KNOWN}


def refine_question(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``refinements``: none is known."""
    return {"refinements": []}


def answer_refined(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``answer``: what the refinements in the prompt say; without any, the closed-book abstention."""
    refinements = parse_interpretations(prompt.inputs.get("refinements", ""))
    if not refinements:
        return answer_closed_book(prompt, models)
    opening = opening_of(prompt.question, refinements) if len(refinements) > 1 else ""
    return {"answer": " ".join([opening, *map(statement, refinements)]).strip()}


def asks_a_text(inputs: Collection[str], outputs: Collection[str]) -> bool:
    """Return whether a signature asks a question of what its other inputs hold, and wants an answer and no more.

    A field for the reasons may stand beside the answer, such as that of `dspy.ChainOfThought`.
    """
    return QUESTION in inputs and len(inputs) > 1 and ANSWER in outputs and set(outputs) <= {ANSWER} | _WHY


def answer_from_text(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``answer`` with the span that the reader finds, or ``unknown``; fields for the reasons with its sentence."""
    best = _best(prompt, models)
    answer = UNKNOWN if best is None else best.answer
    why = "The text does not say it." if best is None else sentence_at(best.passage.text, best.span.start).text
    return {name: answer if name == ANSWER else why for name in prompt.output_fields}


def _best(prompt: Prompt, models: Models) -> Evidence | None:
    texts = [prompt.inputs[name] for name in prompt.input_fields if name != QUESTION and prompt.inputs.get(name)]
    parsed = [one for text in texts for one in evidence_in(text)]
    passages = [PromptPassage(number, one.title, one.text) for number, one in enumerate(parsed, 1)]
    answers = telling(prompt.question, gather(prompt.question, passages, models))
    return answers[0] if answers and answers[0].support >= _LEAST_SUPPORT else None
