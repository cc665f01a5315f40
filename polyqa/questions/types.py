"""Generated questions with their answers, how many were left after each step, and what a database says of itself."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field
from pydantic.dataclasses import dataclass

from polyqa.base.text import counted
from polyqa.metrics.text import normalize_answer


class GeneratedQuestion(BaseModel, frozen=True):
    """A question made from a corpus, with its answers and where each of them stands.

    Attributes
    ----------
    question
        Stands on its own.
    answers, pids
        Of equal length, at least one: the i-th answer is a span of the passage with the i-th id. Several
        when the same question was made from several passages.
    """

    question: str
    answers: tuple[str, ...]
    pids: tuple[str, ...]

    def distinct_answers(self) -> dict[str, str]:
        """Return the answers that differ after normalisation, each with the id of the first passage that gives it."""
        first: dict[str, tuple[str, str]] = {}
        for answer, pid in zip(self.answers, self.pids, strict=True):
            first.setdefault(normalize_answer(answer), (answer, pid))
        return dict(first.values())


@dataclass(frozen=True)
class QuestionSettings:
    """How questions are made from a passage.

    Attributes
    ----------
    revisions
        How often each question is revised, 0 to 2; a third time changes nothing (SIXPAQ, section 3.3.1).
        0 gives the questions that the paper retrieves with (table 2).
    spans
        How many spans of a passage are asked for at most, 1 to 32. The paper's beam of 32 leaves 13.5 of a
        passage on average (section 3.1.2).
    at_once
        A language model writes the questions of a passage in one call, with their answers, and answers those once
        more that the reader does not. Not for the embedded engine.
    """

    revisions: Annotated[int, Field(ge=0, le=2)] = 2
    spans: Annotated[int, Field(ge=1, le=32)] = 8
    at_once: bool = False


class Counts(BaseModel, frozen=True):
    """How many were left after each step.

    Attributes
    ----------
    passages, failed
        Read, and those among them for which the language model failed.
    answers
        Spans that were detected and stand in their passage.
    generated, verified, revised
        Questions written, those that the reader answers alike, and those of them that revision changed.
    questions
        Distinct ones at the end.
    """

    passages: int
    failed: int
    answers: int
    generated: int
    verified: int
    revised: int
    questions: int

    def __str__(self) -> str:
        failed = f" ({self.failed} failed)" if self.failed else ""
        return (
            f"{counted(self.passages, 'passage')}{failed}, {counted(self.answers, 'answer')}, "
            f"{counted(self.generated, 'question')} written, "
            f"{self.verified:,} verified, {self.revised:,} revised, {self.questions:,} distinct"
        )


class Origin(BaseModel, frozen=True):
    """What questions were made from, and with.

    The language model wrote, the reader verified; ``corpus`` is the passages' `generation.corpus_fingerprint`, and
    the rest is of `QuestionSettings`.
    """

    lm: str
    reader: str
    corpus: str
    revisions: int
    spans: int
    at_once: bool = False


class Generation(BaseModel, frozen=True):
    """The questions of a corpus, in its order, with the counts and where they come from.

    ``others`` are the ids of other passages whose questions the journal keeps.
    """

    questions: tuple[GeneratedQuestion, ...]
    counts: Counts
    origin: Origin
    others: frozenset[str] = frozenset()


class Manifest(BaseModel, frozen=True, extra="forbid"):
    """What a database holds and how it was made.

    Attributes
    ----------
    format
        Version of the folder's layout.
    counts
        How many were left after each step; ``counts.questions`` is how many rows the table has.
    origin
        Language model, reader and the hash of the passages that were read.
    encoder, dimensions
        The sentence encoder whose vectors of the questions are stored.
    index, index_passages
        Fingerprint of the index whose passages were read, and how many it has; ``counts.passages`` of
        them were read.
    digest
        Hash of the questions with their answers and ids.
    lancedb
        Version that wrote the table.
    table_version
        LanceDB's number of the table's last state, which has its full-text index.
    """

    format: Literal[1] = 1
    counts: Counts
    origin: Origin
    encoder: str
    dimensions: int
    index: str
    index_passages: int
    digest: str
    lancedb: str
    table_version: int


class FoundQuestion(GeneratedQuestion, frozen=True):
    """A question of a database that a search has found.

    Attributes
    ----------
    number
        Its place in the database, from 0.
    score
        How near it is to the query; only comparable within one result list.
    """

    number: int
    score: float
