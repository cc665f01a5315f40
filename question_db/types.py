"""What generation gives: questions with their answers, and how many were left after each step."""

from pydantic import BaseModel, ConfigDict, model_validator


class GeneratedQuestion(BaseModel):
    """A question made from a corpus, with its answers and where each of them stands.

    Attributes
    ----------
    question
        Stands on its own.
    answers, pids
        Of equal length, at least one: the i-th answer is a span of the passage with the i-th id. Several
        when the same question was made from several passages.
    """

    model_config = ConfigDict(frozen=True)

    question: str
    answers: tuple[str, ...]
    pids: tuple[str, ...]

    @model_validator(mode="after")
    def _paired(self) -> "GeneratedQuestion":
        if not self.answers or len(self.answers) != len(self.pids):
            raise ValueError(f"{len(self.answers)} answers from {len(self.pids)} passages")
        return self


class Counts(BaseModel):
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

    model_config = ConfigDict(frozen=True)

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
            f"{self.passages:,} passages{failed}, {self.answers:,} answers, {self.generated:,} questions written, "
            f"{self.verified:,} verified, {self.revised:,} revised, {self.questions:,} distinct"
        )


class Generation(BaseModel):
    """The questions of a corpus, in its order, with the counts."""

    model_config = ConfigDict(frozen=True)

    questions: tuple[GeneratedQuestion, ...]
    counts: Counts
