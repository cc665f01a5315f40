"""Query refinement: this engine knows nothing beyond its prompt, so it refines nothing of its own."""

from polyqa.signatures.lenient import parse_interpretations

from .ambiguity import nearest_demos
from .closed_book import SAME_QUESTION, answer_closed_book
from .composing import opening_of, statement
from .models import Models
from .prompt import Prompt


def refine_question(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``refinements``: a demo's if it shows the same question, else none, for none is known."""
    nearest = nearest_demos(prompt, models, "refinements")
    if not nearest or nearest[0][1] < SAME_QUESTION:
        return {"refinements": []}
    shown = parse_interpretations(nearest[0][0].outputs["refinements"])
    return {"refinements": [{"question": one.question, "answer": one.answer} for one in shown]}


def answer_refined(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``answer``: what the refinements in the prompt say; without any, the closed-book abstention."""
    refinements = parse_interpretations(prompt.inputs.get("refinements", ""))
    if not refinements:
        return answer_closed_book(prompt, models)
    question = prompt.inputs["question"]
    told = [] if len(refinements) == 1 else [opening_of(question, refinements)]
    return {"answer": " ".join([*told, *(statement(one) for one in refinements)])}
