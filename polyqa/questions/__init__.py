"""Questions made from a corpus by SIXPAQ's steps, and the database that retrieves them, and passages through them."""

from .build import build_questions, locally
from .database import QuestionDatabase, questions_path
from .generation import generate_questions
from .retriever import QuestionRetriever
from .types import Counts, FoundQuestion, GeneratedQuestion, Generation, QuestionSettings

__all__ = [
    "Counts",
    "FoundQuestion",
    "GeneratedQuestion",
    "Generation",
    "QuestionDatabase",
    "QuestionRetriever",
    "QuestionSettings",
    "build_questions",
    "generate_questions",
    "locally",
    "questions_path",
]
