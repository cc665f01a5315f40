"""A writer of questions that writes what it is told, in place of the embedded one."""

from collections.abc import Callable, Sequence

from polyqa.models import Task, Written


class ScriptedWriter:
    """Writes a question for each task, and says how likely questions are.

    Parameters
    ----------
    write
        From a task to its question; ``""`` for none, the default.
    likelihood
        From a task and a question to its mean log-probability; −0.1 by default.
    score
        How sure it is of what it writes.
    """

    name = "scripted"

    def __init__(
        self,
        write: Callable[[Task], str] = lambda task: "",
        likelihood: Callable[[Task, str], float] = lambda task, question: -0.1,
        score: float = -0.1,
    ) -> None:
        self._write, self._likelihood, self._score = write, likelihood, score

    def write(self, tasks: Sequence[Task]) -> list[Written]:
        return [Written(self._write(task), self._score) for task in tasks]

    def likelihood(self, tasks: Sequence[Task], questions: Sequence[str]) -> list[float]:
        return list(map(self._likelihood, tasks, questions))
