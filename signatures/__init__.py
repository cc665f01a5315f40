"""One `dspy.Signature` per language-model call, and the types that they share."""

from .ambiguity import TypeAmbiguity
from .answer_detection import DetectAnswers
from .clarification import ExtractInterpretations
from .closed_book import AnswerClosedBook
from .deduplication import FindDistinct
from .errors import PolyqaError
from .long_form import WriteLongFormAnswer
from .matching import MatchInterpretations
from .pseudo_interpretations import InferPseudoInterpretations
from .question_generation import GenerateQuestion
from .question_revision import ReviseQuestion
from .support import VerifySupport
from .types import AmbiguityType, Coverage, Interpretation, Passage, render_passages
from .verification import VerifyInterpretation

__all__ = [
    "AmbiguityType",
    "AnswerClosedBook",
    "Coverage",
    "DetectAnswers",
    "ExtractInterpretations",
    "FindDistinct",
    "GenerateQuestion",
    "InferPseudoInterpretations",
    "Interpretation",
    "MatchInterpretations",
    "Passage",
    "PolyqaError",
    "ReviseQuestion",
    "TypeAmbiguity",
    "VerifyInterpretation",
    "VerifySupport",
    "WriteLongFormAnswer",
    "render_passages",
]
