"""Ready corpora among documents: files whose passages and ids are taken as they are."""

from pathlib import Path

from polyqa.base.errors import PolyqaError
from polyqa.base.rows import SUFFIXES, format_of, read_rows
from polyqa.colbert_index.corpus import SHAPE

from .converting import FORMATS


def is_ready(path: Path) -> bool:
    """Return whether a file holds passages already: a corpus's format, or a table or a list with a text column."""
    suffix = path.suffix.lower()
    if suffix not in FORMATS or suffix not in SUFFIXES:
        return suffix not in FORMATS and format_of(path) in SUFFIXES
    try:
        first = next(read_rows(path, SHAPE), None)
    except PolyqaError:
        return False
    return first is not None and SHAPE.is_row(first.value)
