"""Signatures of a user's own that ask a question of a text: ``context, question -> answer`` and the like."""

from collections.abc import Collection

from .evidence import Evidence, Models, distinct, gather, telling
from .prompt import Prompt, PromptPassage, evidence_in

ANSWER, QUESTION = "answer", "question"
_WHY = frozenset({"reasoning", "rationale", "explanation"})
_LEAST_SUPPORT = 0.05
UNKNOWN = "unknown"


def asks_a_text(inputs: Collection[str], outputs: Collection[str]) -> bool:
    """Return whether a signature asks a question of what its other inputs hold, and wants an answer and no more.

    A field for the reasons may stand beside the answer, such as that of `dspy.ChainOfThought`.
    """
    return QUESTION in inputs and len(inputs) > 1 and ANSWER in outputs and set(outputs) <= {ANSWER} | _WHY


def answer_from_text(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``answer`` with the span that the reader finds, or ``unknown``; fields for the reasons with its sentence."""
    best = _best(prompt, models)
    told = UNKNOWN if best is None else best.answer
    why = "The text does not say it." if best is None else _sentence(best)
    return {name: told if name == ANSWER else why for name in prompt.output_fields}


def _best(prompt: Prompt, models: Models) -> Evidence | None:
    texts = [prompt.inputs[name] for name in prompt.input_fields if name != QUESTION and prompt.inputs.get(name)]
    every = [one for text in texts for one in evidence_in(text)]
    passages = [PromptPassage(number, one.title, one.text) for number, one in enumerate(every, 1)]
    found = distinct(telling(prompt.question, gather(prompt.question, passages, models)))
    return found[0] if found and found[0].support >= _LEAST_SUPPORT else None


def _sentence(evidence: Evidence) -> str:
    from punkt import sent_tokenize

    end = 0
    for part in sent_tokenize(evidence.passage.text):
        end = evidence.passage.text.find(part, end) + len(part)
        if evidence.span.start < end:
            return str(part)
    return evidence.answer
