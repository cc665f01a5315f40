"""What of a repository is polyqa's: the names of the files, how large they may be, and how each kind is checked."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from polyqa.artifacts.store import CARD, README, STATE, read_artifact, read_json
from polyqa.base.errors import PolyqaError
from polyqa.evaluation.loading import load_questions
from polyqa.evaluation.loading.files import SUFFIXES
from polyqa.loading import check_artifact

ORIGIN = "hub.json"
"""Written beside what was pulled: where it came from, and which commit."""
_MB = 1 << 20
_QUESTIONS = "questions"


@dataclass(frozen=True)
class Kind:
    """A kind of repository.

    Attributes
    ----------
    told
        What it is called in messages.
    repo_type
        What the hub calls it: model or dataset.
    limits
        The names of the files that are its own, with the most bytes that each may have.
    required
        The names that must be there; of ``one_of`` exactly one.
    one_of
        Names of which exactly one must be there.
    """

    told: str
    repo_type: str
    limits: dict[str, int]
    required: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()

    def chosen(self, names: Iterable[str]) -> list[str] | None:
        """Return the names that are this kind's, ``None`` if they are not all there."""
        held = set(names)
        if not held.issuperset(self.required) or (self.one_of and len(held & set(self.one_of)) != 1):
            return None
        return [name for name in self.limits if name in held]


ARTIFACT = Kind("compiled program", "model", {README: 4 * _MB, STATE: 64 * _MB, CARD: 64 * _MB}, (STATE, CARD))
_SETS = tuple(f"{_QUESTIONS}{suffix}" for suffix in SUFFIXES)
QUESTION_SET = Kind("question set", "dataset", {README: 4 * _MB, **dict.fromkeys(_SETS, 64 * _MB)}, (), _SETS)


def check(kind: Kind, folder: Path) -> None:
    """Check the files of a folder as they are checked when they are used.

    Raises
    ------
    PolyqaError
        If they are not what they should be.
    """
    if kind is ARTIFACT:
        check_artifact(read_artifact(folder))
    else:
        count_questions(next(folder / name for name in _SETS if (folder / name).is_file()))


def count_questions(path: Path) -> int:
    """Return how many questions a file holds, in all its splits.

    Raises
    ------
    PolyqaError
        If it cannot be read, or a question in it is none.
    """
    try:
        return len(load_questions(path))
    except PolyqaError as error:
        if "name a split" not in str(error):
            raise
    return sum(len(load_questions(path, split=name)) for name in read_json(path))
