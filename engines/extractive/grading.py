"""CRAG's evaluator and its query rewriter."""

from polyqa.signatures import Grade
from polyqa.signatures.lenient import parse_grade

from .models import Models
from .prompt import Prompt
from .text import STOPWORDS, words
from .thresholds import best_cut
from .verifying import best_support

# Of 225 passages that were retrieved for 45 homonyms training questions, 93% of those above 0.4, 61% of those
# between 0.2 and 0.3, and 2% of those below 0.05 held a gold answer.
_CORRECT = 0.2
_INCORRECT = 0.05


def grade_passage(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``grade`` by the support of the passage's best answer: two cuts part the three grades.

    Demos that show a question, a passage and a grade move each cut to where it errs least.
    """
    support = best_support(prompt.inputs["question"], prompt.inputs.get("passage", ""), models)
    labelled = [
        (
            best_support(demo.inputs["question"], demo.inputs["passage"], models),
            parse_grade(demo.outputs["grade"]),
        )
        for demo in prompt.demos
        if {"question", "passage"} <= demo.inputs.keys() and "grade" in demo.outputs
    ]
    upper = best_cut([(score, grade is Grade.CORRECT) for score, grade in labelled], _CORRECT)
    lower = best_cut([(score, grade is not Grade.INCORRECT) for score, grade in labelled], _INCORRECT)
    if support >= upper:
        return {"grade": Grade.CORRECT}
    return {"grade": Grade.AMBIGUOUS if support >= lower else Grade.INCORRECT}


def rewrite_query(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``search_query``: the question's words that carry meaning, as they are written."""
    question = prompt.inputs["question"]
    kept = [word for word in words(question) if word.lower() not in STOPWORDS]
    return {"search_query": " ".join(kept) or question}
