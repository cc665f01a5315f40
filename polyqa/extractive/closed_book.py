"""Answers without passages: this engine knows nothing beyond its prompt, and says so."""

from polyqa.replies import parse_interpretations as parse_interpretations

from .demos import nearest_demos
from .evidence import Models
from .long_answers import opening_of, statement
from .prompt import Prompt

_SAME_QUESTION = 0.92  # cosine


def answer_closed_book(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``answer``: a demo's answer if it answers the same question, else an abstention."""
    shown = _shown(prompt, models, "answer")
    if shown is not None:
        return {"answer": shown}
    return {
        "answer": f"I cannot answer “{prompt.question.strip()}” without passages. I am an extractive engine: I know "
        "only what stands in my prompt. Ask over a corpus that holds the answer, or use a language model "
        "with knowledge of its own."
    }


def refine_question(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``refinements``: a demo's if it shows the same question, else none, for none is known."""
    shown = parse_interpretations(_shown(prompt, models, "refinements") or "")
    return {"refinements": [{"question": one.question, "answer": one.answer} for one in shown]}


def answer_refined(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``answer``: what the refinements in the prompt say; without any, the closed-book abstention."""
    refinements = parse_interpretations(prompt.inputs.get("refinements", ""))
    if not refinements:
        return answer_closed_book(prompt, models)
    told = [] if len(refinements) == 1 else [opening_of(refinements, [])]
    return {"answer": " ".join([*told, *(statement(one) for one in refinements)])}


def _shown(prompt: Prompt, models: Models, output: str) -> str | None:
    """Return what a demo says to the same question."""
    nearest = nearest_demos(prompt, models, output)
    return nearest[0][0].outputs[output] if nearest and nearest[0][1] >= _SAME_QUESTION else None
