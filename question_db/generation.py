"""Questions from a corpus: answers are detected, questions written, verified, and twice revised.

SIXPAQ (section 3.1, 3.3.1) fine-tunes a model for each step; here each is a signature that any language
model fills.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from pathlib import Path
from typing import Any

import dspy

from polyqa.embedded_models import SpanReader
from polyqa.signatures import Passage

from .gathering import gathering
from .steps import read_passage
from .types import Generation


def generate_questions(
    passages: Sequence[Passage],
    *,
    lm: dspy.LM,
    reader: SpanReader,
    journal: Path,
    threads: int = 8,
    step: Callable[[], None] = lambda: None,
) -> Generation:
    """Make questions from passages; a generation that was killed goes on.

    Parameters
    ----------
    passages
        With distinct ids.
    lm
        Fills `DetectAnswers`, `GenerateQuestion` and `ReviseQuestion`.
    reader
        Verifies.
    journal
        JSON lines, one per passage as it ends; those in it are not read again. A passage for which the
        language model failed is not in it, and is tried again the next time.
    threads, step
        Passages at once; called after each passage.

    Raises
    ------
    PolyqaError
        If the first passages all fail, or the journal is of another corpus, language model or reader.
    """
    stop = threading.Event()

    def one(passage: Passage) -> dict[str, Any] | None:
        return None if stop.is_set() else read_passage(passage, lm, reader)

    with gathering(passages, str(lm.model), reader.name, journal, step) as gathered:

        def keep(ended: Iterable[Future[dict[str, Any] | None]]) -> None:
            for future in ended:
                if (line := future.result()) is not None:
                    gathered.keep(line)

        pool = ThreadPoolExecutor(threads)
        pending = {pool.submit(copy_context().run, one, passage) for passage in gathered.left}
        every = frozenset(pending)
        try:
            while pending:
                ended, pending = wait(pending, return_when=FIRST_COMPLETED)
                keep(ended)
                gathered.require_progress()
        finally:  # passages that are being read are still read and kept
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            keep(future for future in every if not future.cancelled() and future.exception() is None)
        return gathered.finish()
