"""Questions from a corpus: answers are detected, questions written, verified and revised.

SIXPAQ (section 3.1, 3.3.1) fine-tunes a model for each step; here each is a signature that any language
model fills.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import dspy

from polyqa.base.values import Passage
from polyqa.base.work import work_through
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
        A file (sqlite, see `polyqa.base.ledger`) that keeps what was made of each passage as it ends; those in it are
        not read again. A passage for which the language model failed is not in it, and is tried again the next time.
    settings
        How often a question is revised, and how many spans of a passage are asked for.
    threads, step
        Passages at once; called after each passage.

    Raises
    ------
    PolyqaError
        If passages fail one after the other, or the journal is of another corpus, language model or reader, or of other
        settings.
    """
    with gathering(passages, str(lm.model), reader.name, settings, journal, step) as gathered:
        work_through(
            gathered.left,
            lambda passage: read_passage(passage, lm, reader, settings),
            lambda passage, line: gathered.keep(line),
            at_once=threads,
            things="passages",
        )
        return gathered.finish()
