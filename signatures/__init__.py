"""One `dspy.Signature` per language-model call, and the types that they share."""

from .ambiguity import TypeAmbiguity
from .answer_detection import DetectAnswers
from .clarification import ExtractInterpretations
from .closed_book import AnswerClosedBook
from .deduplication import FindDistinct
from .errors import PolyqaError
from .grades import Grade, Support
from .grounded_interpretation import InterpretPassage
from .location import LocateAnswer
from .long_form import WriteLongFormAnswer
from .matching import MatchInterpretations
from .passage_grading import GradePassage
from .passage_selection import SelectPassages
from .pseudo_interpretations import InferPseudoInterpretations
from .query_rewriting import RewriteQuery
from .question_generation import GenerateQuestion
from .question_refinement import RefineQuestion
from .question_revision import ReviseQuestion
from .question_selection import SelectQuestions
from .refined_answer import AnswerRefined
from .relaxation import RelaxQuery
from .retrieval_decision import DecideRetrieval
from .segment_critique import CritiqueSegment
from .segment_drafting import DraftSegment
from .self_verification import VerifyAgainstRoot
from .support import VerifySupport
from .types import AmbiguityType, Coverage, Interpretation, Passage, render_passages
from .verification import VerifyInterpretation

__all__ = [
    "AmbiguityType",
    "AnswerClosedBook",
    "AnswerRefined",
    "Coverage",
    "CritiqueSegment",
    "DecideRetrieval",
    "DetectAnswers",
    "DraftSegment",
    "ExtractInterpretations",
    "FindDistinct",
    "GenerateQuestion",
    "Grade",
    "GradePassage",
    "InferPseudoInterpretations",
    "InterpretPassage",
    "Interpretation",
    "LocateAnswer",
    "MatchInterpretations",
    "Passage",
    "PolyqaError",
    "RefineQuestion",
    "RelaxQuery",
    "ReviseQuestion",
    "RewriteQuery",
    "SelectPassages",
    "SelectQuestions",
    "Support",
    "TypeAmbiguity",
    "VerifyAgainstRoot",
    "VerifyInterpretation",
    "VerifySupport",
    "WriteLongFormAnswer",
    "render_passages",
]
