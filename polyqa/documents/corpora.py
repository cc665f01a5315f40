"""Ready corpora among documents: files whose passages and ids are taken as they are."""

from pathlib import Path

from polyqa.base.errors import PolyqaError
from polyqa.base.rows import SUFFIXES, format_of, read_rows
from polyqa.base.values import Passage
from polyqa.colbert_index.corpus import SHAPE, read_corpus

from .converting import FORMATS, UnreadableError


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


def ready_passages(path: Path, source: str) -> list[Passage]:
    """Return the passages of a corpus among the files, with their source.

    Raises
    ------
    UnreadableError
        If there are none.
    """
    try:
        passages = read_corpus(path)
    except PolyqaError as error:
        raise UnreadableError(f"cannot be read as a corpus ({error})") from error
    return [one.model_copy(update={"metadata": {**one.metadata, "source": source}}) for one in passages]
