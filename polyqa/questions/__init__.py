"""Questions made from a corpus by SIXPAQ's steps, and the database that retrieves them, and passages through them."""

from typing import TYPE_CHECKING

from polyqa.base.lazy import lazy_names

if TYPE_CHECKING:
    from .build import build_questions as build_questions
    from .database import QuestionDatabase as QuestionDatabase
    from .database import questions_path as questions_path
    from .generation import generate_questions as generate_questions
    from .retriever import QuestionRetriever as QuestionRetriever
    from .types import Counts as Counts
    from .types import FoundQuestion as FoundQuestion
    from .types import GeneratedQuestion as GeneratedQuestion
    from .types import Generation as Generation
    from .types import QuestionSettings as QuestionSettings

__getattr__, __dir__, __all__ = lazy_names(__name__)
