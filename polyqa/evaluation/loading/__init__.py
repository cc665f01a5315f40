"""Questions of public data sets, of the shipped corpus and of your own files, all as `polyqa.metrics.gold.Question`."""

from .convert import Loaded, questions_fingerprint
from .formats import FORMATS
from .load import load_questions, read_questions

__all__ = ["FORMATS", "Loaded", "load_questions", "questions_fingerprint", "read_questions"]
