"""One `dspy.Signature` per language-model call, a file per system."""

from .ask_back import AskBack
from .auto import LocateAnswer, VerifyReadings
from .clarification import ClarifyQuestion, ExtractInterpretations, WriteLongFormAnswer
from .closed_book import AnswerClosedBook, AnswerRefined, RefineQuestion
from .crag import GradePassage, RewriteQuery
from .diva import InferPseudoInterpretations, TypeAmbiguity, VerifyInterpretation, VerifyInterpretations
from .jpr import SelectPassages
from .madam_rag import AggregateAnswers, ReadDocument, ReviseAnswer
from .self_rag import CritiqueSegment, DecideRetrieval, DraftSegment
from .sixpaq import (
    AnswerFromPassage,
    AskOfNamesakes,
    DetectAnswers,
    GenerateQuestion,
    ReviseQuestion,
    SelectQuestions,
)
from .spanwise import ReadPassage, TellFindings, VerifyFinding
from .tree_of_clarifications import VerifyAgainstRoot
from .verdict import FindDistinct, InterpretPassage, MatchInterpretations, RelaxQuery, VerifySupport

__all__ = [
    "AggregateAnswers",
    "AnswerClosedBook",
    "AnswerFromPassage",
    "AnswerRefined",
    "AskBack",
    "AskOfNamesakes",
    "ClarifyQuestion",
    "CritiqueSegment",
    "DecideRetrieval",
    "DetectAnswers",
    "DraftSegment",
    "ExtractInterpretations",
    "FindDistinct",
    "GenerateQuestion",
    "GradePassage",
    "InferPseudoInterpretations",
    "InterpretPassage",
    "LocateAnswer",
    "MatchInterpretations",
    "ReadDocument",
    "ReadPassage",
    "RefineQuestion",
    "RelaxQuery",
    "ReviseAnswer",
    "ReviseQuestion",
    "RewriteQuery",
    "SelectPassages",
    "SelectQuestions",
    "TellFindings",
    "TypeAmbiguity",
    "VerifyAgainstRoot",
    "VerifyFinding",
    "VerifyInterpretation",
    "VerifyInterpretations",
    "VerifyReadings",
    "VerifySupport",
    "WriteLongFormAnswer",
]
