"""One answer from several passages, and whether they give another."""

from .models import Models
from .prompt import Prompt, parse_passages
from .reading import Evidence, gather
from .text import answer_kind, fits_kind, holds, normalize

NULL = "null"
_SPANS = 3
_LEAST_SUPPORT = 0.05
# The matter is settled if the best answer has at least this share of the support of all.
_SETTLED = 0.45


def locate_answer(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``short_answer``, ``source`` and ``settled``.

    Answers that hold one another are one. The best supported is told, as its best supported passage words it.
    Of questions whose answers the first passages hold, the threshold for its share settles 57% of the plain and 12%
    of the ambiguous ones of homonyms train; a threshold for the next best answer's support, 43% and 12%.
    """
    question = prompt.inputs["question"]
    ranked = ranked_answers(question, prompt.inputs.get("passages", ""), models)
    if not ranked or ranked[0].support < _LEAST_SUPPORT:
        return {"short_answer": NULL, "source": NULL, "settled": "No"}
    best = ranked[0]
    settled = best.support >= _SETTLED * sum(answer.support for answer in ranked)
    return {
        "short_answer": best.span.text.strip(" .,;:"),
        "source": str(best.passage.number),
        "settled": "Yes" if settled else "No",
    }


def ranked_answers(question: str, passages: str, models: Models) -> list[Evidence]:
    """Return the distinct answers of the passages, the best supported first."""
    kind, asked = answer_kind(question), f" {normalize(question)} "
    distinct: list[Evidence] = []
    for evidence in gather(question, parse_passages(passages), models, keep=_SPANS):
        text = evidence.span.text
        if not fits_kind(text, kind) or not normalize(text) or f" {normalize(text)} " in asked:
            continue
        if not any(_same(text, other.span.text) for other in distinct):
            distinct.append(evidence)
    return distinct


def _same(left: str, right: str) -> bool:
    return holds(left, right) or holds(right, left)
