"""Works on the questions of a batch, so many at once, in an event loop."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

import dspy

from polyqa.asking import check_question, result_of
from polyqa.base.errors import PolyqaError
from polyqa.evaluation.records import Failure
from polyqa.lm.recorder import Recorder, recording

from .asked import Asked

Fields = dict[str, Any]


class Answerer:
    """Answers questions with a program and a language model; what fails becomes part of the answer's line."""

    def __init__(self, program: dspy.Module, lm: dspy.LM, label: str) -> None:
        self._program, self._lm, self._label = program, lm, label

    async def __call__(self, asked: Asked) -> Fields:
        """Return what is written of a question, without its id."""
        recorder = Recorder()
        try:
            question = check_question(asked.question)
            with recording(self._lm, self._program) as recorder:
                prediction = await self._program.acall(question=question)
            result = result_of(question, prediction, self._label, self._program, self._lm, recorder)
            return {**result.to_dict(), "question": asked.question}
        except Exception as error:
            failure = Failure.of(error, recorder.calls[-1].reply if recorder.calls else "")
            return {
                "question": asked.question,
                "error": failure.model_dump(),
                "calls": len(recorder.calls),
                "input_tokens": recorder.input_tokens,
                "output_tokens": recorder.output_tokens,
                "seconds": round(recorder.seconds, 3),
            }


@dataclass
class CallLimit:
    """How many calls a batch may make; a question is begun only if it cannot go over.

    Attributes
    ----------
    most
        The limit, the calls of earlier, stopped commands included; ``None`` if there is none.
    per_question
        How many a question takes at most; of a program that does not tell, the most that one took so far.
    made
        So many were made.
    """

    most: int | None
    per_question: int
    made: int = 0

    def add(self, calls: int) -> None:
        """Count the calls of a question that has ended."""
        self.made += calls
        self.per_question = max(self.per_question, calls)

    def allows(self, running: int) -> bool:
        """Return whether one more may begin while so many are running."""
        return self.most is None or self.made + (running + 1) * self.per_question <= self.most

    def error(self, path: object) -> PolyqaError:
        """Return what the user is told."""
        return PolyqaError(
            f"Stopped: {self.made:,} calls of language models were made, a question may take {self.per_question:,}, "
            f"and the limit (--max-calls) is {self.most or 0:,}. What was answered is kept in {path}; the same command "
            "with a larger --max-calls goes on from there."
        )


async def work_on(
    questions: Iterable[Asked],
    work: Callable[[Asked], Awaitable[Fields]],
    keep: Callable[[Asked, Fields], None],
    *,
    at_once: int,
    limit: Callable[[int], bool],
    check: Callable[[], None],
) -> bool:
    """Work on questions and keep what comes of each as it ends.

    When ``check`` raises, what was begun is still finished and kept; when ``keep`` does, such as on a full disk, or the
    task is cancelled, it is given up.

    Parameters
    ----------
    limit
        Is given how many are running, and says whether one more may begin; if it says no and none is running, that is
        the end.
    check
        Is called after each question.

    Returns
    -------
    bool
        Whether all questions were worked on.
    """
    left = iter(questions)
    waiting = next(left, None)
    running: dict[asyncio.Task[Fields], Asked] = {}

    async def keep_next() -> None:
        done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            keep(running.pop(task), task.result())

    try:
        while waiting is not None or running:
            while waiting is not None and len(running) < at_once and limit(len(running)):
                running[asyncio.ensure_future(work(waiting))] = waiting
                waiting = next(left, None)
            if not running:
                return False
            await keep_next()
            try:
                check()
            except PolyqaError:
                while running:
                    await keep_next()
                raise
        return True
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
