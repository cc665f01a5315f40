"""Judgements of passages by the support that the reader finds in them."""

from polyqa.base.values import Grade
from polyqa.replies import parse_interpretations

from .answer_kinds import answer_kind, fits_kind
from .evidence import WORTH_TELLING, Models, best_support, gather, same_answer
from .obeying import DOUBTS
from .prompt import Prompt

# Low: a reading that is lost here is lost, while extraction drops the weak ones anyway.
_ANSWERABLE = 0.1
# Most passages above the first hold an answer, hardly one below the second.
_CORRECT = 0.2
_INCORRECT = 0.05
# Below this support no candidate is fitting, however weak the others are.
_LEAST_SUPPORT = 0.05


def verify(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``answerable``: Yes iff the best supported answer reaches the threshold."""
    support = best_support(prompt.question, prompt.passages(), models)
    return {"answerable": "Yes" if support >= _least(prompt) else "No"}


def verify_all(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``answered``: the numbers of the candidates that `verify` would say Yes to, over the same passages."""
    passages, candidates = prompt.passages(), enumerate(prompt.passages("candidates"), 1)
    supports = {number: best_support(one.text, passages, models) for number, one in candidates}
    return {"answered": [number for number, support in supports.items() if support >= _least(prompt)]}


def verify_readings(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``supported``: the numbers of the readings that the passages which they cite answer; all where none is."""
    passages = prompt.passages()
    supported = []
    for number, reading in enumerate(parse_interpretations(prompt.inputs.get("interpretations", "")), 1):
        cited = [passage for passage in passages if str(passage.number) == reading.pid]
        if best_support(reading.question, cited or passages, models) >= _least(prompt):
            supported.append(number)
    return {"supported": supported}


def _least(prompt: Prompt) -> float:
    return _ANSWERABLE * DOUBTS[prompt.clauses.doubt]


def grade_passage(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``grade`` by the support of the passage's best answer: two cuts part the three grades."""
    support = best_support(prompt.question, prompt.passages("passage"), models)
    if support >= _CORRECT:
        return {"grade": Grade.CORRECT}
    return {"grade": Grade.AMBIGUOUS if support >= _INCORRECT else Grade.INCORRECT}


def verify_against_root(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``fitting``: Yes iff the reader, asked the root question, finds the candidate among its best spans."""
    candidate = prompt.inputs.get("candidate", "")
    answers = gather(prompt.question, prompt.passages("passage"), models)
    if not answers or not candidate.strip() or not fits_kind(candidate, answer_kind(prompt.question)):
        return {"fitting": "No"}
    least_support = max(_LEAST_SUPPORT, WORTH_TELLING * answers[0].support) * DOUBTS[prompt.clauses.doubt]
    fitting = any(one.support >= least_support and same_answer(one.answer, candidate) for one in answers)
    return {"fitting": "Yes" if fitting else "No"}
