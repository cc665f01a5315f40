"""Joint passage selection: each passage is chosen for an answer that those before it do not give."""

from .models import Models
from .prompt import Prompt, parse_passages
from .reading import gather
from .text import answer_kind, fits_kind, holds, normalize

_SPANS = 3
# A new answer is worth a passage if its support is at least this part of the best one's.
_RELATIVE_SUPPORT = 0.35


def select_passages(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``selected``, greedily.

    All passages are read for the question at once. Time and again the passage whose best supported answer is
    new is chosen; when no supported answer is new, the passages go on in their order.
    """
    question = prompt.inputs["question"]
    passages = parse_passages(prompt.inputs.get("passages", ""))
    count = int(prompt.inputs["count"])
    # Support must not fall with the rank: a new answer far down is what selection is for.
    found = gather(question, passages, models, keep=_SPANS, ranked=False)
    kind, asked = answer_kind(question), f" {normalize(question)} "
    chosen: dict[int, str] = {}
    for evidence in found:
        answer = evidence.span.text
        if len(chosen) == count or evidence.support < _RELATIVE_SUPPORT * found[0].support:
            break
        known = any(holds(answer, other) or holds(other, answer) for other in chosen.values())
        says = normalize(answer) and f" {normalize(answer)} " not in asked and fits_kind(answer, kind)
        if says and not known and evidence.passage.number not in chosen:
            chosen[evidence.passage.number] = answer
    others = [passage.number for passage in passages if passage.number not in chosen]
    return {"selected": [*chosen, *others][:count]}
