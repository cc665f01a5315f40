"""What an artifact says of itself."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError

from polyqa.base.errors import PolyqaError
from polyqa.base.text import counted, with_interval

FORMAT: Literal[1] = 1
MOST_NAME = 500
"""Characters of a name or a source."""
_Name = Annotated[str, Field(max_length=MOST_NAME)]
_Int = Annotated[int, Field(ge=-1_000_000, le=1_000_000)]
_Float = Annotated[float, Field(allow_inf_nan=False)]
_Settings = dict[_Name, bool | _Int | _Float | _Name | None]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class IndexCard(_Part):
    """The index that a program was compiled over."""

    name: _Name
    fingerprint: _Name
    passages: int
    condition: str | None = None
    """What its passages had to fulfil; so do those that the loaded program searches, if not told otherwise."""

    @property
    def names_a_path(self) -> bool:
        """Whether the name is a path, which no card of ours has: it would open an index anywhere."""
        return Path(self.name).name != self.name or self.name in ("", "..")


class DataCard(_Part):
    """A set of questions: where it came from, how many, and a hash of what was loaded."""

    source: _Name
    n: Annotated[int, Field(ge=0)]
    fingerprint: _Name


class Spent(_Part):
    """What compiling took, cached replies not counted."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0


class Figure(_Part):
    """A corpus value with its 95% interval."""

    value: float
    low: float | None
    high: float | None
    n: int

    def __str__(self) -> str:
        return with_interval(self.value, self.low, self.high)


MOST_FAILED = 0.02
"""Share of questions that may fail before a difference says nothing."""


class Gain(_Part):
    """Compiled against uncompiled, on the same questions.

    Attributes
    ----------
    failed_before, failed_after
        Questions without an answer, which count as empty answers.
    """

    metric: _Name
    before: Figure
    after: Figure
    difference: float
    low: float | None
    high: float | None
    p: float
    data: DataCard
    failed_before: Annotated[int, Field(ge=0)] = 0
    failed_after: Annotated[int, Field(ge=0)] = 0

    @property
    def change(self) -> str:
        """The difference with its interval."""
        return with_interval(self.difference, self.low, self.high, "+")

    @property
    def tells(self) -> bool:
        """Whether the difference says something of the programs: few enough questions failed on both sides."""
        return max(self.failed_before, self.failed_after) <= MOST_FAILED * self.before.n

    @property
    def failures(self) -> str:
        """What is told instead of a difference that says nothing."""
        return (
            f"{self.failed_before} of {counted(self.before.n, 'question')} failed before and {self.failed_after} "
            "after: the difference says nothing"
        )


class Card(_Part):
    """The card of an artifact.

    Attributes
    ----------
    program, settings
        The program's name in the registry, and what its constructor was given.
    reranker
        See `polyqa.load`; ``None`` where the encoder reranks, or nothing is retrieved.
    signatures
        Predictor to `state.signature_fingerprint`.
    recipe
        The recipe as data, its seed included.
    measure, threshold, reader
        The metric: what was optimized, from which score on a run became a demo, and the reader of D-F1.
    train, dev
        The questions that gave demos, and those that picked.
    lm, helper_lm, prompt_lm, teacher, teacher_lm, adapter, encoder
        What ran the program, what ran those of its predictors that had a language model of their own, what wrote
        instructions (if anything did), the compiled program and the language model whose runs became demos (if they
        were others), DSPy's adapter, and the encoder that picks demos. Names only: no card makes a program ask a
        model.
    lm_settings
        What ``lm`` was asked with, such as its temperature.
    index
        ``None`` for programs that do not retrieve.
    versions
        Of polyqa and DSPy.
    spent
        Calls, tokens, seconds.
    dev_gain, test_gain
        What compiling brought.
    date
        ISO date.
    """

    format: Literal[1] = FORMAT
    name: _Name
    program: _Name
    settings: _Settings = {}
    reranker: _Name | None = None
    signatures: dict[str, str]
    recipe: dict[str, JsonValue]
    measure: _Name
    threshold: float
    reader: _Name
    train: DataCard
    dev: DataCard | None = None
    lm: _Name
    helper_lm: _Name | None = None
    lm_settings: dict[_Name, JsonValue] = {}
    prompt_lm: _Name | None = None
    teacher: _Name | None = None
    teacher_lm: _Name | None = None
    adapter: _Name = "ChatAdapter"
    encoder: _Name
    index: IndexCard | None = None
    versions: dict[str, str]
    spent: Spent = Spent()
    dev_gain: Gain | None = None
    test_gain: Gain | None = None
    date: _Name

    @property
    def gains(self) -> dict[str, Gain]:
        """What compiling brought, on ``dev`` and on ``test``, as far as it is known."""
        both = {"dev": self.dev_gain, "test": self.test_gain}
        return {name: gain for name, gain in both.items() if gain is not None}


def check_settings(settings: Mapping[str, Any]) -> None:
    """Check that a card can keep the settings of a program.

    Raises
    ------
    PolyqaError
        If one is no number, text, true, false or null.
    """
    for name, value in settings.items():
        try:
            TypeAdapter(_Settings).validate_python({name: value})
        except ValidationError:
            raise PolyqaError(
                f"The setting {name}={value!r:.120} cannot be kept in an artifact, which holds numbers, short texts, "
                "true, false and null. Leave it out."
            ) from None
