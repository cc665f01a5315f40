"""One `dspy.Signature` per language-model call, a file per system, and the types that they share."""

from .auto import LocateAnswer, VerifyReadings
from .clarification import ClarifyQuestion, ExtractInterpretations, WriteLongFormAnswer
from .closed_book import AnswerClosedBook, AnswerRefined, RefineQuestion
from .crag import GradePassage, RewriteQuery
from .diva import InferPseudoInterpretations, TypeAmbiguity, VerifyInterpretation, VerifyInterpretations
from .errors import PolyqaError
from .jpr import SelectPassages
from .lean_adapter import LeanAdapter, adapter_name, configured_adapter
from .self_rag import CritiqueSegment, DecideRetrieval, DraftSegment
from .sixpaq import DetectAnswers, GenerateQuestion, ReviseQuestion, SelectQuestions
from .tree_of_clarifications import VerifyAgainstRoot
from .types import AmbiguityType, Coverage, Grade, Interpretation, Passage, Support, render_passages
from .verdict import FindDistinct, InterpretPassage, MatchInterpretations, RelaxQuery, VerifySupport

__all__ = [
    "AmbiguityType",
    "AnswerClosedBook",
    "AnswerRefined",
    "ClarifyQuestion",
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
    "LeanAdapter",
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
    "VerifyInterpretations",
    "VerifyReadings",
    "VerifySupport",
    "WriteLongFormAnswer",
    "adapter_name",
    "configured_adapter",
    "render_passages",
]
