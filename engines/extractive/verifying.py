"""Verification: is there an answer in the passages?"""

from polyqa.signatures.lenient import parse_yes_no

from .models import Models
from .prompt import Prompt, parse_passages
from .reading import gather
from .thresholds import clearly_better_cut

# On 150 ASQA training questions DIVA's DR is 27.3 with 0.2, 28.1 with 0.1 and 28.2 with 0.05: a reading that is
# lost here is lost, while extraction drops the weak ones anyway.
DEFAULT_THRESHOLD = 0.1


def verify(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``answerable``: Yes iff the best supported answer reaches the threshold.

    Demos that show passages, a question and a verdict move the threshold, if they clearly ask for another one.
    """
    passages = parse_passages(prompt.inputs.get("passages", ""))
    support = best_support(prompt.inputs["question"], prompt.inputs.get("passages", ""), models) if passages else 0.0
    return {"answerable": "Yes" if support >= _threshold(prompt, models) else "No"}


def best_support(question: str, passages: str, models: Models) -> float:
    """Return the support of the best answer that the rendered passages give, in [0, 1)."""
    found = gather(question, parse_passages(passages), models, keep=3, ranked=False)
    return found[0].support if found else 0.0


def _threshold(prompt: Prompt, models: Models) -> float:
    labelled = [
        (
            best_support(demo.inputs["question"], demo.inputs["passages"], models),
            parse_yes_no(demo.outputs["answerable"]) == "Yes",
        )
        for demo in prompt.demos
        if {"question", "passages"} <= demo.inputs.keys() and "answerable" in demo.outputs
    ]
    return clearly_better_cut(labelled, DEFAULT_THRESHOLD)
