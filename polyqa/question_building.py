"""Databases of generated questions by names: index, language model, reader."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Literal

import dspy

from polyqa.colbert_index import ColBERTIndex
from polyqa.embedded_models import EMBEDDED_ENCODER, EMBEDDED_READER, Reader
from polyqa.engines.extractive import MODEL_NAME
from polyqa.question_db import QuestionDatabase, build_questions, locally, questions_path
from polyqa.question_db.build import chosen_passages, free_place
from polyqa.signatures import PolyqaError

from .loading import open_index
from .models import language_model, ready_reader, shared_encoder, shared_reader

Where = Literal["local", "ray"]
Steps = Callable[[int], AbstractContextManager[Callable[[], None]]]


def build(
    index: str | Path | ColBERTIndex,
    *,
    steps: Steps,
    out: str | Path | None = None,
    lm: str = MODEL_NAME,
    api_base: str | None = None,
    reader: str = EMBEDDED_READER,
    encoder: str = EMBEDDED_ENCODER,
    threads: int | None = None,
    limit: int | None = None,
    seed: int = 0,
    engine: Where = "local",
    workers: int = 2,
    address: str | None = None,
    overwrite: bool = False,
) -> QuestionDatabase:
    """Make the questions of an index and their database; a stopped build goes on.

    Parameters
    ----------
    index
        Name or path, or an opened index.
    steps
        Shows the passages as they are done.
    out, limit, seed, overwrite
        See `polyqa.question_db.build_questions`.
    lm, api_base
        See `polyqa.language_model`.
    reader
        Verifies the questions.
    encoder
        Encodes them.
    threads
        Passages at once (on Ray, in each worker): for the embedded engine 2 locally and 1 on Ray, else 8.
    engine, workers, address
        ``local``, or ``ray`` with so many workers on the cluster at the address (see
        `polyqa.question_db.distributed.on_ray`).

    Raises
    ------
    PolyqaError
        If something that is named is not there, or nothing could be made.
    """
    if engine not in ("local", "ray"):
        raise PolyqaError(f"The engine is local or ray, not {engine!r}.")
    opened = open_index(index)
    free_place(opened, out, overwrite=overwrite)  # before anything is loaded
    embedded = lm == MODEL_NAME
    if engine == "ray":
        from polyqa.question_db.distributed import on_ray

        generate = on_ray(
            partial(make_models, lm, api_base, reader),
            workers=workers,
            threads=threads or (1 if embedded else 8),
            address=address,
        )
    else:
        model = language_model(lm, api_base=api_base)
        generate = locally(model, ready_reader(reader), threads or (2 if embedded else 8))
    with steps(len(chosen_passages(opened, limit, seed))) as step:
        return build_questions(
            opened,
            generate,
            encoder=shared_encoder(encoder),
            out=out,
            limit=limit,
            seed=seed,
            overwrite=overwrite,
            step=step,
        )


def make_models(lm: str, api_base: str | None, reader: str) -> tuple[dspy.LM, Reader]:
    """Return a language model and a reader by names; called in every worker of a cluster."""
    return language_model(lm, api_base=api_base), shared_reader(reader)


def open_questions(
    index: str | Path | ColBERTIndex, path: str | Path | None = None, *, encoder: str = EMBEDDED_ENCODER
) -> tuple[ColBERTIndex, QuestionDatabase]:
    """Return an index and its database of questions, by default the one in the index's folder.

    Raises
    ------
    PolyqaError
        If one is not there, or they do not belong together.
    """
    opened = open_index(index)
    return opened, QuestionDatabase.open(path or questions_path(opened), encoder=shared_encoder(encoder), index=opened)
