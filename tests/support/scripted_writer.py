"""A writer of questions that writes what it is told, in place of the embedded one."""

from collections.abc import Callable, Sequence

from polyqa.models import Task, Written


class ScriptedWriter:
    """Writes a question for each task.

    Parameters
    ----------
    write
        From a task to its question; ``""`` for none, the default.
    score
        How sure it is of what it writes.
    """

    name = "scripted"

    def __init__(self, write: Callable[[Task], str] = lambda task: "", score: float = -0.1) -> None:
        self._write, self._score = write, score

    def write(self, tasks: Sequence[Task]) -> list[Written]:
        return [Written(self._write(task), self._score) for task in tasks]
