"""One `dspy.Signature` per language-model call, and the types that they share."""

from .ambiguity import TypeAmbiguity
from .clarification import ExtractInterpretations
from .closed_book import AnswerClosedBook
from .errors import PolyqaError
from .long_form import WriteLongFormAnswer
from .pseudo_interpretations import InferPseudoInterpretations
from .types import AmbiguityType, Coverage, Interpretation, Passage, render_passages
from .verification import VerifyInterpretation

__all__ = [
    "AmbiguityType",
    "AnswerClosedBook",
    "Coverage",
    "ExtractInterpretations",
    "InferPseudoInterpretations",
    "Interpretation",
    "Passage",
    "PolyqaError",
    "TypeAmbiguity",
    "VerifyInterpretation",
    "WriteLongFormAnswer",
    "render_passages",
]
