"""While a program runs over its own training set, no question is shown the demos that were made from it.

Its labels would be the nearest demo of all, and what is measured there, or kept as a demo, would be copied.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import dspy
from dspy.utils.callback import BaseCallback

from polyqa.metrics.gold import Question
from polyqa.metrics.text import normalize_answer
from polyqa.programs.knn import LEFT_OUT


class LeaveOneOut(BaseCallback):
    """Sets `polyqa.programs.knn.LEFT_OUT` while a program answers one of its training questions.

    A callback, as DSPy hands those on to the threads that its optimizers start, which know nothing else of
    the caller's context. From there on the context is copied: by our own threads and by asyncio.

    Parameters
    ----------
    questions
        The training set. Any other question is answered with all demos.
    """

    def __init__(self, questions: Sequence[Question]) -> None:
        self._texts = {normalize_answer(question.question): _texts(question) for question in questions}
        self._open: set[str] = set()

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """Leave the demos of a training question out from here on."""
        if LEFT_OUT.get():
            return  # a part of a program that answers one already: the whole decides
        question = (inputs.get("kwargs") or {}).get("question")
        texts = self._texts.get(normalize_answer(question)) if isinstance(question, str) else None
        if texts is not None:
            self._open.add(call_id)
            LEFT_OUT.set(texts)

    def on_module_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        """Allow all demos again."""
        if call_id in self._open:
            self._open.discard(call_id)
            LEFT_OUT.set(frozenset())


def _texts(question: Question) -> frozenset[str]:
    """Return what demos of a question are about: itself and, in verification and trees, its readings."""
    readings = [reading.question for annotation in question.annotations for reading in annotation]
    return frozenset(normalize_answer(text) for text in (question.question, *readings))


@contextmanager
def leave_one_out(questions: Sequence[Question]) -> Iterator[None]:
    """Have programs answer these questions without the demos made from them while the block runs."""
    with dspy.context(callbacks=[*(dspy.settings.callbacks or ()), LeaveOneOut(questions)]):
        yield
