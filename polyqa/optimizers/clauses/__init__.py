"""Instructions by search over plain clauses: a library of them as data, and the search."""

from .library import LIBRARY, Candidate, candidates_for
from .search import search_clauses

__all__ = ["LIBRARY", "Candidate", "candidates_for", "search_clauses"]
