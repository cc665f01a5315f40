"""What answers are scored against: a question with its readings and reference answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import dspy

    from polyqa.base.values import AmbiguityType


@dataclass(frozen=True)
class Reading:
    """A disambiguated question with its short answers (aliases; the first is the canonical one).

    ``pid`` names the passage that holds the answer, where the data set says so. ``other_questions`` ask the same
    in other words; only EDIT-F1 looks at them, all that shows or asks one question takes ``question``.
    """

    question: str
    short_answers: tuple[str, ...]
    pid: str | None = None
    other_questions: tuple[str, ...] = ()

    @property
    def questions(self) -> tuple[str, ...]:
        """The question in all the ways that it is asked."""
        return (self.question, *self.other_questions)

    @classmethod
    def from_alternatives(cls, text: str, short_answers: tuple[str, ...]) -> "Reading":
        """Return a reading whose question is asked in several ways, with ``|`` between them, as in AmbigNQ.

        Raises
        ------
        ValueError
            If there is nothing but bars and white space.

        >>> Reading.from_alternatives("Who won in 1998?|Who came first in 1998?", ("She",)).other_questions
        ('Who came first in 1998?',)
        """
        ways = [way for part in text.split("|") if (way := part.strip())] if "|" in text else [text]
        if not ways:
            raise ValueError(f"no question: {text!r}")
        return cls(ways[0], short_answers, other_questions=tuple(ways[1:]))


@dataclass(frozen=True)
class Document:
    """A document that comes with a question, as in RAMDocs.

    Attributes
    ----------
    pid
        Its id in the corpus; made of the question's id and its number where the data set gives none.
    kind
        ``correct`` gives a right answer, ``misinfo`` plants a wrong one, ``noise`` gives none.
    answer
        The answer that it gives; empty for noise.
    text
        Empty where it is to be looked up in the corpus.
    """

    pid: str
    kind: Literal["correct", "misinfo", "noise"]
    answer: str = ""
    text: str = ""


@dataclass(frozen=True)
class Question:
    """An ambiguous (or plain) question with its readings and long answers.

    Attributes
    ----------
    id, question
        The id in its data set, and the text.
    readings
        At least one; the first annotator's.
    long_answers
        Reference answers; may be empty.
    ambiguity, reason
        The ambiguity type and why, where the data set gives them.
    other_annotations
        The readings that further annotators found (AmbigNQ).
    wrong_answers, documents
        Answers that must not be told, and the documents that come with the question (RAMDocs).
    """

    id: str
    question: str
    readings: tuple[Reading, ...]
    long_answers: tuple[str, ...] = ()
    ambiguity: str | None = None
    reason: str | None = None
    other_annotations: tuple[tuple[Reading, ...], ...] = ()
    wrong_answers: tuple[str, ...] = ()
    documents: tuple[Document, ...] = ()

    @property
    def answers(self) -> Sequence[Sequence[str]]:
        """The aliases of every reading."""
        return [reading.short_answers for reading in self.readings]

    @property
    def annotations(self) -> Sequence[Sequence[Reading]]:
        """The readings by annotator."""
        return [self.readings, *self.other_annotations]

    @property
    def ambiguity_types(self) -> "Sequence[AmbiguityType]":
        """The kinds of ambiguity that the data set names; none where it names none, or kinds of its own."""
        from polyqa.replies import parse_ambiguity_types  # it loads DSPy

        try:
            return parse_ambiguity_types(self.ambiguity) if self.ambiguity else ()
        except ValueError:
            return ()

    def to_example(self) -> "dspy.Example":
        """Return what DSPy's optimizers take: the question as input, and this as ``gold``."""
        import dspy

        return dspy.Example(question=self.question, gold=self).with_inputs("question")


_END = " ?.!？。！．؟۔।॥"


def same_words(question: str) -> str:
    """Return what two questions share that ask the same: words and signs, in capitals or not.

    >>> same_words("What is C++?") == same_words("what is  c++"), same_words("What is C#?") == same_words("What is C?")
    (True, False)
    """
    return " ".join(question.casefold().split()).rstrip(_END)
