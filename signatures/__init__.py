"""One `dspy.Signature` per language-model call, and the types that they share."""

from .ambiguity import TypeAmbiguity
from .clarification import ExtractInterpretations
from .closed_book import AnswerClosedBook
from .deduplication import FindDistinct
from .errors import PolyqaError
from .long_form import WriteLongFormAnswer
from .matching import MatchInterpretations
from .pseudo_interpretations import InferPseudoInterpretations
from .support import VerifySupport
from .types import AmbiguityType, Coverage, Interpretation, Passage, render_passages
from .verification import VerifyInterpretation

__all__ = [
    "AmbiguityType",
    "AnswerClosedBook",
    "Coverage",
    "ExtractInterpretations",
    "FindDistinct",
    "InferPseudoInterpretations",
    "Interpretation",
    "MatchInterpretations",
    "Passage",
    "PolyqaError",
    "TypeAmbiguity",
    "VerifyInterpretation",
    "VerifySupport",
    "WriteLongFormAnswer",
    "render_passages",
]
