"""Rows of passages and of questions: out of every usual file, folder and object of Python, in one place.

What a row means is told elsewhere: `polyqa.colbert_index.corpus` makes passages of rows, `polyqa.evaluation.loading`
makes questions of them.
"""

# ruff: noqa: F401
from .files import SUFFIXES, exists, format_of, is_saved, located, one_split, read_rows
from .memory import by_row, rows_in_memory
from .record import NoSplitError, Record, Shape, as_id, excerpt, folded, listed, problem
from .tables import cells_of
from .text import read_lines, read_text
