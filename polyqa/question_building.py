"""Databases of generated questions by names: index, language model, reader."""

from collections.abc import Collection
from dataclasses import replace
from functools import partial
from pathlib import Path

import dspy

from polyqa.colbert_index import ColBERTIndex
from polyqa.evaluation.progress import display
from polyqa.extractive import MODEL_NAME
from polyqa.models import EMBEDDED_ENCODER, SpanReader
from polyqa.questions import QuestionDatabase, QuestionSettings, locally, questions_path
from polyqa.questions import build_questions as build_database
from polyqa.questions.build import chosen_passages, free_place

from .cluster import Ray
from .language_models import Models, default_threads, ready_reader, shared_encoder, shared_reader
from .loading import open_index


def build_questions(
    index: str | Path | ColBERTIndex,
    *,
    out: str | Path | None = None,
    models: Models = Models(),
    settings: QuestionSettings = QuestionSettings(),
    threads: int | None = None,
    pids: Collection[str] | None = None,
    limit: int | None = None,
    seed: int = 0,
    ray: Ray | None = None,
    overwrite: bool = False,
) -> QuestionDatabase:
    """Make the questions of an index and their database; a stopped build goes on.

    Parameters
    ----------
    index
        Name or path, or an opened index.
    out, pids, limit, seed, overwrite
        See `polyqa.questions.build_questions`.
    models
        What makes the questions (``lm``) and verifies them (``reader``), by name where a cluster makes them.
    settings
        How often a question is revised, and how many spans of a passage are asked for.
    threads
        Passages at once (on Ray, in each worker): for the embedded engine 2 locally and 1 on Ray, else 8.
    ray
        The cluster, see `polyqa.questions.distributed.on_ray`; this process if not given.

    Raises
    ------
    PolyqaError
        If something that is named is not there, or nothing could be made.
    """
    opened = open_index(index)
    free_place(opened, out, overwrite=overwrite)  # before anything is loaded
    if ray is not None:
        from polyqa.questions.distributed import on_ray

        models = replace(models, lm=models.chosen_lm)  # workers have settings of their own
        generate = on_ray(
            partial(make_models, models),
            settings=settings,
            workers=ray.workers,
            threads=threads or (1 if models.lm == MODEL_NAME else 8),
            address=ray.address,
        )
    else:
        lm = models.answering()
        generate = locally(lm, ready_reader(models.reader), threads or default_threads(lm), settings)
    with display().passages(len(chosen_passages(opened, limit, seed, pids=pids))) as step:
        return build_database(
            opened,
            generate,
            encoder=shared_encoder(),
            out=out,
            pids=pids,
            limit=limit,
            seed=seed,
            overwrite=overwrite,
            step=step,
        )


def make_models(models: Models) -> tuple[dspy.LM, SpanReader]:
    """Return the language model and the reader; called in every worker of a cluster."""
    return models.answering(), shared_reader(models.reader)


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
    return opened, QuestionDatabase(path or questions_path(opened), encoder=shared_encoder(encoder), index=opened)
