"""Makes a program by name, with its index, reranker and encoder."""

from pathlib import Path
from typing import Any

import dspy

from colbert_index import (
    BiEncoderReranker,
    ColBERTIndex,
    CrossEncoderReranker,
    FusedRetriever,
    Reranker,
    SpanReaderReranker,
)
from embedded_models import Encoder, Reader
from question_db import QuestionDatabase, QuestionRetriever, questions_path
from signatures import PolyqaError

from .registry import program_class, registered
from .settings import checked_settings

READER_RERANKER = "reader"
PARTS = frozenset({"program", "index", "encoder", "reranker", "questions"})
"""What `assemble` is given by name, and what therefore is no setting of a program."""


def assemble(
    program: str,
    *,
    index: str | Path | ColBERTIndex,
    encoder: Encoder,
    reranker: str | None = None,
    questions: str | Path | None = None,
    **settings: Any,
) -> dspy.Module:
    """Return an uncompiled program.

    Parameters
    ----------
    program
        A name of `registry.PROGRAMS`.
    index
        Name or path of the index, or an opened one; not touched for a program that does not retrieve.
    encoder
        For reranking and kNN demos.
    reranker
        See `make_reranker`.
    questions
        Folder of the database of questions, for programs that need one; by default ``questions`` in the
        index's folder.
    settings
        More for the program's constructor, such as ``passages=5``, see `settings.checked_settings`.

    Raises
    ------
    PolyqaError
        If the program or the index is not there, or a setting is not one of the program's or not of its type.
    """
    chosen, settings = program_class(program), checked_settings(program, settings)
    parts: list[Any] = []
    if retrieves(program):
        opened = index if isinstance(index, ColBERTIndex) else ColBERTIndex(index)
        parts = [FusedRetriever([opened, opened.bm25]), make_reranker(reranker, encoder, opened)]
        if "questions" in registered(program).needs:
            database = QuestionDatabase.open(questions or questions_path(opened), encoder=encoder, index=opened)
            parts.append(QuestionRetriever(database, opened))
    try:
        return chosen(*parts, encoder=encoder, **settings)
    except (TypeError, ValueError) as error:
        raise PolyqaError(f"{program} cannot be made with {settings}: {error}.") from error


def make_reranker(name: str | None, encoder: Encoder, index: ColBERTIndex) -> Reranker:
    """Return the reranker of a name.

    Parameters
    ----------
    name
        ``None``: the encoder's cosine. ``reader``: that and what the embedded span reader finds. Else a
        cross-encoder, a path or a hub name.
    """
    similar = BiEncoderReranker(encoder, index)
    if name is None:
        return similar
    if name == READER_RERANKER:
        return SpanReaderReranker(similar, Reader(precision="auto", batch_size=32))
    return CrossEncoderReranker(name)


def retrieves(program: str) -> bool:
    """Return whether a program, by name, searches an index."""
    return "index" in registered(program).needs
