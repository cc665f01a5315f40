"""Databases of generated questions by names: index, language model, reader."""

from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import dspy

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.colbert_index import ColBERTIndex
from polyqa.evaluation.progress import bar
from polyqa.extractive import MODEL_NAME
from polyqa.questions import QuestionDatabase, QuestionSettings, generate_questions, questions_path
from polyqa.questions import build_questions as build_database
from polyqa.questions.build import chosen_passages, free_place
from polyqa.questions.generation import read_passage

from .cluster import Ray, on_ray
from .language_models import Models, default_threads, ready_reader, shared_encoder, shared_reader
from .loading import open_index


def build_questions(
    index: str | Path | ColBERTIndex,
    *,
    out: str | Path | None = None,
    models: Models | str | dspy.LM = Models(),
    settings: QuestionSettings | None = None,
    threads: int | None = None,
    pids: Collection[str] | None = None,
    limit: int | None = None,
    ray: Ray | None = None,
    overwrite: bool = False,
) -> QuestionDatabase:
    """Make the questions of an index and their database; a stopped build goes on.

    Parameters
    ----------
    index
        Name or path, or an opened index.
    out, pids, limit, overwrite
        See `polyqa.questions.build_questions`.
    models
        What makes the questions (``lm``) and verifies them (``reader``), by name where a cluster makes them.
    settings
        How questions are made. If not given, a language model writes those of a passage at once, and the embedded
        engine in steps.
    threads
        Passages at once; if not given 2 for the embedded engine, as many as a local model has slots, else 8. On Ray, in
        each worker: 1 for the embedded engine, else 8.
    ray
        The cluster on which passages are read; this process if not given.

    Raises
    ------
    PolyqaError
        If something that is named is not there, or nothing could be made.
    """
    models = Models.of(models)
    if threads is not None and threads < 1:
        raise PolyqaError(f"threads is at least 1, not {threads}.")
    opened = open_index(index)
    free_place(opened, out, overwrite=overwrite)  # before anything is loaded
    lm = models.answering()
    settings = settings or QuestionSettings(at_once=lm.model != MODEL_NAME)
    generate = partial(generate_questions, lm=lm, settings=settings)
    if ray is None:
        generate = partial(generate, reader=ready_reader(models.reader), threads=threads or default_threads(lm))
    else:
        models = replace(models, lm=models.chosen_lm)  # workers have settings of their own
        each = threads or (1 if models.lm == MODEL_NAME else 8)
        generate = partial(
            generate,
            reader=shared_reader(models.reader),
            threads=ray.workers * each,
            elsewhere=reading_on_ray(models, settings, ray, at_once=each),
        )
    with bar(len(chosen_passages(opened, limit, pids=pids)), "passages") as step:
        return build_database(
            opened, generate, encoder=shared_encoder(), out=out, pids=pids, limit=limit, overwrite=overwrite, step=step
        )


@contextmanager
def reading_on_ray(
    models: Models, settings: QuestionSettings, ray: Ray, *, at_once: int
) -> Iterator[Callable[[Passage], Awaitable[dict[str, Any]]]]:
    """Give what makes the questions of a passage on a cluster; see `polyqa.questions.generation.read_passage`."""
    with on_ray(partial(make_reading, models, settings), ray, at_once=at_once) as workers:
        yield workers.call


def make_reading(models: Models, settings: QuestionSettings) -> Callable[[Passage], dict[str, Any]]:
    """Return what makes the questions of a passage; called in every worker of a cluster."""
    return partial(read_passage, lm=models.answering(), reader=shared_reader(models.reader), settings=settings)


def open_questions(index: str | Path | ColBERTIndex, path: str | Path | None = None) -> QuestionDatabase:
    """Return the database of questions of an index, by default the one in the index's folder."""
    opened = open_index(index)
    return QuestionDatabase(path or questions_path(opened), encoder=shared_encoder(), index=opened)
