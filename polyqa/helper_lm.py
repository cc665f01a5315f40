"""The helper: a second language model, for the calls of a program whose output the user never sees.

DIVA's own setting on ASQA (In et al., 2024, https://arxiv.org/abs/2409.02361, implementation details): GPT-4 says what
is ambiguous, infers what the question could mean and verifies the passages, whatever model answers.
"""

import dspy

from polyqa.base.errors import PolyqaError
from polyqa.lm.assigned import set_lms
from polyqa.lm.calls import kind_of


def helping_predictors(program: dspy.Module) -> list[str]:
    """Return the names of the predictors that a helper runs.

    One of a user's own signature, which `polyqa.lm.calls.CALLS` does not have, asks the language model that answers.
    """
    return [
        name
        for name, predictor in program.named_predictors()
        if (kind := kind_of(predictor.signature)) is not None and kind.helps
    ]


def give_helper(program: dspy.Module, lm: dspy.LM) -> None:
    """Have a language model run the helping predictors of a program.

    Raises
    ------
    PolyqaError
        If the program has none.
    """
    names = helping_predictors(program)
    if not names:
        raise PolyqaError(
            f"{type(program).__name__} has no call that a helper could make: the user sees all of its replies. Leave "
            "out --helper-lm."
        )
    set_lms(program, dict.fromkeys(names, lm))
