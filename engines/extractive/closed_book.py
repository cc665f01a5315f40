"""Closed-book answering: this engine knows nothing beyond its prompt, and says so."""

from .ambiguity import nearest_demos
from .models import Models
from .prompt import Prompt

SAME_QUESTION = 0.92


def answer_closed_book(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``answer``: a demo's answer if it answers the same question, else an abstention."""
    nearest = nearest_demos(prompt, models, "answer")
    if nearest and nearest[0][1] >= SAME_QUESTION:
        return {"answer": nearest[0][0].outputs["answer"]}
    question = prompt.inputs["question"].strip()
    return {
        "answer": f"I cannot answer “{question}” without passages. I am an extractive engine: I know "
        "only what stands in my prompt. Ask over a corpus that holds the answer, or use a language model "
        "with knowledge of its own."
    }
