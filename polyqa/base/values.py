"""The small frozen values that travel between retrievers, programs and prompts."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from pydantic import (
    BaseModel,
    Field,
    SerializerFunctionWrapHandler,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_serializer,
)
from pydantic_core import to_jsonable_python

from .errors import PolyqaError

MetadataValue = str | int | float | bool
"""What a field of a passage's metadata may hold."""
BAR = " ｜ "
"""What a prompt shows for the bar in a title, which would part the title from the text."""


def json_data(value: Any) -> Any:
    """Return a value as JSON data; what JSON has nothing for is a text, NaN and infinity are null."""
    try:
        return to_jsonable_python(value, fallback=str, inf_nan_mode="null")
    except ValueError:  # bytes that are no text, or a value that holds itself
        return str(value)


class Passage(BaseModel, frozen=True):
    """A piece of the user's corpus.

    Attributes
    ----------
    pid
        The passage's id in its corpus.
    title, text
        What is indexed and shown to the language model.
    score
        The relevance its retriever or reranker gave it; only comparable within one result list.
    metadata
        What else the corpus says of it, such as ``source``, ``page`` or ``date``. It is kept, filtered by and cited,
        but not indexed. What tells passages of one title apart stands behind the title in prompts (`programs.spans`).
    """

    pid: str
    title: str = ""
    text: str
    score: float = 0.0
    metadata: Mapping[str, MetadataValue] = Field(default_factory=dict, exclude_if=lambda metadata: not metadata)

    @field_validator("metadata", mode="before")
    @classmethod
    def _without_missing(cls, metadata: Any) -> Any:
        """Leave out what is missing: null, and NaN, which JSON does not have."""
        if not isinstance(metadata, Mapping):
            return metadata
        return {name: value for name, value in metadata.items() if value is not None and value == value}

    def __hash__(self) -> int:
        return hash((self.pid, self.title, self.text, self.score))

    @property
    def indexed_text(self) -> str:
        """Title and text as retrievers and encoders take them, without a mark between them.

        A bar or a full stop between title and text costs all-MiniLM-L6-v2 a point of AC@5 on ASQA.
        """
        return " ".join(f"{self.title} {self.text}".split())

    @property
    def place(self) -> str:
        """Where the passage stands, as it is cited; empty if its metadata names no ``source``.

        >>> Passage(pid="1", text="It flies.", metadata={"source": "handbook.pdf", "page": 14}).place
        'handbook.pdf, p. 14'
        """
        of = self.metadata
        if "source" not in of:
            return ""
        number = f"p. {of['page']}" if "page" in of else f"line {of['line']}" if "line" in of else ""
        return ", ".join(filter(None, map(str, (of["source"], number, of.get("section", "")))))

    @property
    def title_in_line(self) -> str:
        """The title as a line of a prompt has it before a bar: a bar within becomes a look-alike."""
        return " ".join(self.title.split()).replace(" | ", BAR)

    def render(self) -> str:
        """Return the one line that stands for this passage in a prompt.

        >>> Passage(pid="p1", title="Mercury", text="A planet.").render()
        'Mercury | A planet.'

        The first bar parts title and text, see `title_in_line`. In a text without a title bars become look-alikes.
        """
        title, text = self.title_in_line, " ".join(self.text.split())
        return f"{title} | {text}" if title else text.replace(" | ", BAR)

    def with_score(self, score: float) -> "Passage":
        """Return the same passage under another score."""
        return self.model_copy(update={"score": float(score)})


def render_passages(passages: Iterable[Passage]) -> list[str]:
    """Return what a signature's ``passages`` field takes; DSPy numbers the lines ``[1]``, ``[2]``, …"""
    return [passage.render() for passage in passages]


def _plain_schema(schema: dict[str, Any]) -> None:
    # DSPy prints a typed field's JSON schema into every prompt: titles, the docstring for Python
    # users and the optional null tell the language model nothing and cost 150 tokens a call.
    schema.pop("description", None)
    for name, field in schema["properties"].items():
        schema["properties"][name] = {"type": "string", "description": field["description"]}
    schema.pop("title", None)


class Interpretation(BaseModel, frozen=True, json_schema_extra=_plain_schema):
    """One reading of an ambiguous question: a disambiguated question with its short answer.

    Attributes
    ----------
    question
        The disambiguated question; it stands on its own.
    answer
        The short answer, at most a few words.
    pid
        Where the answer stands. In a program's result it is the id of a passage of the corpus, or
        ``None`` when no retrieved passage holds the answer. In a prompt it is the passage's number.
    """

    question: str = Field(description="the disambiguated question")
    answer: str = Field(description="its short answer")
    pid: str | None = Field(default=None, description="number of the passage that holds the answer")

    @model_serializer(mode="wrap")
    def _without_empty_pid(self, handler: SerializerFunctionWrapHandler) -> dict[str, str]:
        # A demo made from a data set without passages has no citation: showing "pid": null would
        # teach the language model to leave citations out.
        return {name: value for name, value in handler(self).items() if value is not None}


class Otherwise(BaseModel, frozen=True):
    """Another answer that passages give about the same thing, and one passage of each independent source of it."""

    answer: str
    pids: tuple[str, ...]


class Sources(BaseModel, frozen=True):
    """Which passages back a reading's answer, and which say otherwise about the same thing.

    Attributes
    ----------
    pids
        One passage of each independent source that says it, the cited one first; near-duplicates and parts of one
        document are one source. Empty for a reading that cites no passage.
    otherwise
        The other answers, the best backed first.
    """

    pids: tuple[str, ...] = ()
    otherwise: tuple[Otherwise, ...] = ()


_INTERPRETATIONS, _PASSAGES = TypeAdapter(tuple[Interpretation, ...]), TypeAdapter(tuple[Passage, ...])


def told_by(prediction: Any, name: str) -> tuple[dict[str, Any], str, tuple[Interpretation, ...], tuple[Passage, ...]]:
    """Return the other fields of what a program gave, its answer, its readings and its passages.

    A program of a user's own may give no readings or passages, and passages that are texts, as DSPy's retrievers do.

    Parameters
    ----------
    name
        The program's, for the message.

    Raises
    ------
    PolyqaError
        If it has no ``answer``, or what it gives as readings or passages is none.
    """
    fields = dict(prediction.items()) if hasattr(prediction, "items") else {}
    if "answer" not in fields:
        had = ", ".join(fields) or type(prediction).__name__
        raise PolyqaError(f"{name} has to give a dspy.Prediction with an answer; it gave {had}.")
    answer = as_answer(fields.pop("answer"))
    try:
        readings = as_readings(fields.pop("interpretations", None))
        passages = as_passages(fields.pop("passages", None) or ())
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=False, include_input=False)[0]
        message = f"{details['loc']}: {details['msg']}"
        raise PolyqaError(f"What {name} gives as readings or passages is none: {message}.") from error
    return fields, answer, readings, passages


def as_answer(told: Any) -> str:
    """Return an answer as a text; empty for none. That of a field of another type than text may be 0, or no.

    >>> as_answer(0), as_answer(False), as_answer(None)
    ('0', 'False', '')
    """
    return str(told) if told or told == 0 else ""


def as_readings(listed: Any) -> tuple[Interpretation, ...]:
    """Return readings, or their data; none for `None`; pydantic's error for what is none of these.

    >>> as_readings([{"question": "Who flew?", "answer": "She"}])
    (Interpretation(question='Who flew?', answer='She', pid=None),)
    """
    return _INTERPRETATIONS.validate_python(listed or ())


def as_passages(listed: Any) -> tuple[Passage, ...]:
    """Return passages, their data, or their texts, which are numbered; pydantic's error for what is none of these.

    >>> as_passages(["It flies."])
    (Passage(pid='1', title='', text='It flies.', score=0.0, metadata={}),)
    """
    if isinstance(listed, list | tuple):
        listed = [{"pid": str(at), "text": one} if isinstance(one, str) else one for at, one in enumerate(listed, 1)]
    return _PASSAGES.validate_python(listed)


def pop_sources(fields: dict[str, Any]) -> tuple[Sources, ...]:
    """Take the sources out of a prediction's fields; a user's own program may mean something else, which stays.

    >>> fields = {"sources": None, "answer": "1902"}
    >>> pop_sources(fields), pop_sources({"sources": ["a newspaper"]})
    ((), ())
    """
    sources = fields.get("sources")
    if not isinstance(sources, (list, tuple)) or not all(isinstance(one, Sources) for one in sources):
        return ()
    return tuple(fields.pop("sources"))


class AmbiguityType(StrEnum):
    """What makes a question ambiguous (DIVA, Table 7).

    The values are the labels of the prompt; DIVA writes ``[AmbSub]``, ``[AmbObj]``, ``[AmbPred]``,
    ``[AmbTime]``, ``[AmbLoc]`` and ``[N/A]``.
    """

    SUBJECT = "AmbSub"
    OBJECT = "AmbObj"
    PREDICATE = "AmbPred"
    TIME = "AmbTime"
    LOCATION = "AmbLoc"
    NONE = "N/A"


class Coverage(StrEnum):
    """How many of a question's interpretations a set of passages answers (DIVA, section 3.3)."""

    USEFUL = "Useful"
    PARTIAL_USEFUL = "PartialUseful"
    USELESS = "Useless"

    @classmethod
    def from_verdicts(cls, verdicts: Sequence[bool]) -> "Coverage":
        """Grade the verdicts of the single interpretations.

        All true is ``Useful``, none true is ``Useless``, anything between is ``PartialUseful``.

        Raises
        ------
        ValueError
            If there is no verdict: nothing was verified, so nothing can be graded.
        """
        if not verdicts:
            raise ValueError("no verdict to grade: verify at least one interpretation")
        if all(verdicts):
            return cls.USEFUL
        return cls.PARTIAL_USEFUL if any(verdicts) else cls.USELESS


class Grade(StrEnum):
    """What CRAG's evaluator makes of one passage, and of all passages of a question (section 4.3)."""

    CORRECT = "Correct"
    AMBIGUOUS = "Ambiguous"
    INCORRECT = "Incorrect"

    @classmethod
    def of_all(cls, grades: Sequence["Grade"]) -> "Grade":
        """Return the action that the grades of the single passages call for.

        One ``Correct`` makes it ``Correct``; nothing but ``Incorrect``, also no passage at all, makes it
        ``Incorrect``; everything else is ``Ambiguous``.
        """
        if cls.CORRECT in grades:
            return cls.CORRECT
        return cls.INCORRECT if all(grade is cls.INCORRECT for grade in grades) else cls.AMBIGUOUS


class Support(StrEnum):
    """How much of a segment its passage supports: Self-RAG's IsSup (Table 1)."""

    FULLY = "Fully"
    PARTIALLY = "Partially"
    NO = "No"
