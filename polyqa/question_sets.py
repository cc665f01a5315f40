"""Questions by name: what is loaded, what runs and cards say of it, and the sets of a compilation."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import dspy

from polyqa.base.errors import PolyqaError
from polyqa.base.rows import rows_in_memory
from polyqa.evaluation.loading import Loaded, read_questions
from polyqa.evaluation.loading.convert import convert
from polyqa.evaluation.loading.formats import SHAPE
from polyqa.evaluation.loading.load import HUB, drawn
from polyqa.metrics.gold import Question
from polyqa.optimizers.examples import as_question


@dataclass(frozen=True)
class Questions:
    """Questions and where they come from.

    Attributes
    ----------
    source
        A name or a path, see `polyqa.evaluation.loading.load_questions`; or questions, or examples of DSPy with
        ``question`` and ``answer`` (or ``answers``); or records, such as a data frame, see
        `polyqa.base.rows.rows_in_memory`.
    format, split, limit, seed
        See `polyqa.evaluation.loading.load_questions`.
    name
        What runs and cards say of the source; by default the file's name, or the name that was given.
    own_documents
        Whether `polyqa.evaluate` answers each question from the documents that come with it (RAMDocs), without a
        search. How many of them are shown is the program's setting ``passages``.
    """

    source: str | Path | Iterable[Question | dspy.Example]
    format: str | None = None
    split: str | None = None
    limit: int | None = None
    seed: int = 0
    name: str = ""
    own_documents: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.source, Iterator):
            object.__setattr__(self, "source", [*self.source])

    @cached_property
    def asked(self) -> list[Question]:
        """The questions; read once."""
        if self.loaded is not None:
            return drawn(self.loaded.questions, self.limit, self.seed)
        assert not isinstance(self.source, str | Path)
        questions = [_question(item, number) for number, item in enumerate(self.source, 1)]
        return drawn(questions, self.limit, self.seed)

    @cached_property
    def loaded(self) -> Loaded | None:
        """All questions of a file, of the hub or of records, and how they were read; read once."""
        if isinstance(self.source, str | Path):
            return read_questions(self.source, format=self.format, split=self.split)
        if {isinstance(item, Question | dspy.Example) for item in self.source} != {False}:
            if self.format or self.split:
                raise PolyqaError("Questions and examples of Python have no format and no split; leave these out.")
            return None
        return convert(rows_in_memory(self.source, SHAPE, self.split), self.format, "the questions")

    @property
    def described(self) -> str:
        """What runs and cards say of the source."""
        suffix = " over their own documents" if self.own_documents else ""
        if self.name or not isinstance(self.source, (str, Path)):
            return (self.name or "questions given in Python") + suffix
        file = _file(self.source)
        return (file.name if file else str(self.source)) + (f" ({self.split})" if self.split else "") + suffix

    @property
    def short(self) -> str:
        """What the folder of a run is named after."""
        suffix = ",own-documents" if self.own_documents else ""
        if not isinstance(self.source, (str, Path)):
            return f"given{suffix}"
        file = _file(self.source)
        return (file.stem if file else str(self.source)) + suffix


def _file(source: str | Path) -> Path | None:
    """Return the file that a source is; a name of the hub may have a point, too."""
    path = Path(source)
    return path if path.suffix and not str(source).startswith(HUB) else None


def _question(item: Question | dspy.Example, number: int) -> Question:
    """Return an item as a question; an example is known by its text, wherever it stands."""
    place = f"question {number}"
    question = as_question(item, place)
    if question.id != place:
        return question
    return replace(question, id=hashlib.sha256(question.question.encode()).hexdigest()[:16])


Given: TypeAlias = str | Path | Iterable[Question | dspy.Example] | Questions
"""What is taken for questions."""


def as_questions(questions: Given) -> Questions:
    """Return questions with where they come from."""
    return questions if isinstance(questions, Questions) else Questions(questions)


@dataclass(frozen=True)
class Sets:
    """The questions of a compilation; no question may be in two of them.

    Attributes
    ----------
    train
        Demos come from here.
    dev
        Picks among candidates where the recipe does, and is reported.
    test
        Reported once, if given.
    """

    train: Given = "homonyms/train"
    dev: Given = "homonyms/dev"
    test: Given | None = None

    def by_name(self) -> dict[str, Questions]:
        """Return the sets by name, without the test questions if none are given."""
        sets = {"train": as_questions(self.train), "dev": as_questions(self.dev)}
        return sets | ({"test": as_questions(self.test)} if self.test is not None else {})
