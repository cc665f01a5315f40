"""Questions from a corpus: answers are detected, questions written, verified and revised.

SIXPAQ (section 3.1, 3.3.1) fine-tunes a model for each step; here each is a signature that any language
model fills.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import dspy

from polyqa.base.values import Passage
from polyqa.base.working import work_through
from polyqa.models import SpanReader

from .gathering import gathering
from .steps import read_passage
from .types import Generation, QuestionSettings


def generate_questions(
    passages: Sequence[Passage],
    *,
    lm: dspy.LM,
    reader: SpanReader,
    journal: Path,
    settings: QuestionSettings = QuestionSettings(),
    threads: int = 8,
    step: Callable[[], None] = lambda: None,
    elsewhere: AbstractContextManager[Callable[[Passage], dict[str, Any]]] | None = None,
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
    settings
        How often a question is revised, and how many spans of a passage are asked for.
    threads, step
        Passages at once; called after each passage.
    elsewhere
        Gives what reads a passage on another machine, as `steps.read_passage` does here; it is entered if a passage is
        left to read.

    Raises
    ------
    PolyqaError
        If the first passages all fail, or the journal is of another corpus, language model or reader, or of other
        settings.
    """
    with gathering(passages, str(lm.model), reader.name, settings, journal, step) as gathered:
        if gathered.left:
            here = partial(read_passage, lm=lm, reader=reader, settings=settings)
            with elsewhere or nullcontext(here) as read:
                work_through(gathered.left, read, gathered.keep, threads=threads, check=gathered.require_progress)
        return gathered.finish()
