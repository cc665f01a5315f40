"""The helper: a second language model, for the calls of a program whose replies are not told.

DIVA's own setting on ASQA (In et al., 2024, https://arxiv.org/abs/2409.02361, implementation details): GPT-4 says what
is ambiguous, infers what the question could mean and verifies the passages, whatever model answers.
"""

from collections.abc import Mapping

import dspy

from polyqa import signatures as s
from polyqa.base.errors import PolyqaError
from polyqa.lm.assigned import set_lms
from polyqa.signatures.lookup import find_by_fields

HELPERS: Mapping[type[dspy.Signature], bool] = {
    # What is ambiguous, and what to search for.
    s.TypeAmbiguity: True,
    s.InferPseudoInterpretations: True,
    s.RelaxQuery: True,
    s.RewriteQuery: True,
    s.DecideRetrieval: True,
    # What was found: which of it is of use, and what holds.
    s.SelectPassages: True,
    s.SelectQuestions: True,
    s.GradePassage: True,
    s.VerifyInterpretation: True,
    s.VerifyInterpretations: True,
    s.VerifyReadings: True,
    s.VerifyAgainstRoot: True,
    s.CritiqueSegment: True,
    # What is told: readings, short answers, long answers.
    s.ExtractInterpretations: False,
    s.ClarifyQuestion: False,
    s.InterpretPassage: False,
    s.LocateAnswer: False,
    s.DraftSegment: False,
    s.WriteLongFormAnswer: False,
    s.AnswerClosedBook: False,
    s.RefineQuestion: False,
    s.AnswerRefined: False,
}
"""Whether a call helps: no word of its reply stands in the answer, it only decides on the way to it."""


def helping_predictors(program: dspy.Module) -> list[str]:
    """Return the names of the predictors that a helper runs.

    A predictor is known by its fields, as optimizers and users reword signatures. One of a user's own signature, which
    `HELPERS` does not have, asks the language model that answers.
    """
    return [
        name
        for name, predictor in program.named_predictors()
        if find_by_fields(HELPERS, predictor.signature.input_fields, predictor.signature.output_fields)
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
            f"{type(program).__name__} has no call that a helper could make: all of its replies are told. Leave out "
            "--helper-lm."
        )
    set_lms(program, dict.fromkeys(names, lm))
