"""Judgements of passages by the support that the reader finds in them."""

from collections.abc import Mapping

from polyqa.base.values import Grade
from polyqa.replies import parse_grade, parse_interpretations, parse_numbers, parse_yes_no

from .answer_kinds import answer_kind, fits_kind
from .demos import best_cut, clearly_better_cut, scored_demos, support_in
from .evidence import WORTH_TELLING, Models, best_support, gather, same_answer
from .obeying import DOUBTS
from .prompt import Prompt, evidence_in

# Low: a reading that is lost here is lost, while extraction drops the weak ones anyway.
_ANSWERABLE = 0.1
# Most passages above the first hold an answer, hardly one below the second.
_CORRECT = 0.2
_INCORRECT = 0.05
# Below this support no candidate is fitting, however weak the others are.
_LEAST_SUPPORT = 0.05


def verify(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``answerable``: Yes iff the best supported answer reaches the threshold.

    Demos that show passages, a question and a verdict move the threshold, if they clearly ask for another one.
    """
    support = support_in("passages", models)
    demos = scored_demos(prompt, ("question", "passages"), "answerable", support, parse_yes_no)
    threshold = clearly_better_cut([(score, verdict == "Yes") for score, verdict in demos], _ANSWERABLE)
    threshold *= DOUBTS[prompt.clauses.doubt]
    return {"answerable": "Yes" if support(prompt.inputs) >= threshold else "No"}


def verify_all(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``answered``: the numbers of the candidates that `verify` would say Yes to, over the same passages."""

    def supports(inputs: Mapping[str, str]) -> list[float]:
        passages = evidence_in(inputs.get("passages", ""))
        asked = [one.text for one in evidence_in(inputs.get("candidates", ""))]
        return [best_support(question, passages, models) for question in asked]

    demos = scored_demos(prompt, ("candidates", "passages"), "answered", supports, parse_numbers)
    labelled = [(score, number in answered) for scores, answered in demos for number, score in enumerate(scores, 1)]
    threshold = clearly_better_cut(labelled, _ANSWERABLE) * DOUBTS[prompt.clauses.doubt]
    return {"answered": [number for number, one in enumerate(supports(prompt.inputs), 1) if one >= threshold]}


def verify_readings(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``supported``: the numbers of the readings that the passages which they cite answer; all where none is."""
    passages = prompt.passages()
    held = []
    for number, reading in enumerate(parse_interpretations(prompt.inputs.get("interpretations", "")), 1):
        cited = [passage for passage in passages if str(passage.number) == reading.pid]
        least = _ANSWERABLE * DOUBTS[prompt.clauses.doubt]
        if best_support(reading.question, cited or passages, models) >= least:
            held.append(number)
    return {"supported": held}


def grade_passage(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``grade`` by the support of the passage's best answer: two cuts part the three grades.

    Demos that show a question, a passage and a grade move each cut to where it errs least.
    """
    support = support_in("passage", models)
    demos = scored_demos(prompt, ("question", "passage"), "grade", support, parse_grade)
    upper = best_cut([(score, grade is Grade.CORRECT) for score, grade in demos], _CORRECT)
    lower = best_cut([(score, grade is not Grade.INCORRECT) for score, grade in demos], _INCORRECT)
    found = support(prompt.inputs)
    if found >= upper:
        return {"grade": Grade.CORRECT}
    return {"grade": Grade.AMBIGUOUS if found >= lower else Grade.INCORRECT}


def verify_against_root(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``fitting``: Yes iff the reader, asked the root question, finds the candidate among its best spans."""
    candidate = prompt.inputs.get("candidate", "")
    found = gather(prompt.question, prompt.passages("passage"), models)
    if not found or not candidate.strip() or not fits_kind(candidate, answer_kind(prompt.question)):
        return {"fitting": "No"}
    least = max(_LEAST_SUPPORT, WORTH_TELLING * found[0].support) * DOUBTS[prompt.clauses.doubt]
    fitting = any(one.support >= least and same_answer(one.answer, candidate) for one in found)
    return {"fitting": "Yes" if fitting else "No"}
