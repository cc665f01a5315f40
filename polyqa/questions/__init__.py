"""Questions made from a corpus by SIXPAQ's steps, and the database that retrieves them, and passages through them."""

from typing import TYPE_CHECKING

from polyqa.base.lazy import lazy_names

if TYPE_CHECKING:
    from .build import build_questions, locally
    from .database import QuestionDatabase, questions_path
    from .generation import generate_questions
    from .retriever import QuestionRetriever
    from .types import Counts, FoundQuestion, GeneratedQuestion, Generation, QuestionSettings

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        ".build": "build_questions locally",
        ".database": "QuestionDatabase questions_path",
        ".generation": "generate_questions",
        ".retriever": "QuestionRetriever",
        ".types": "Counts FoundQuestion GeneratedQuestion Generation QuestionSettings",
    },
)
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
