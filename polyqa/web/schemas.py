"""What clients send and get, as OpenAPI shows it."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from polyqa.asking import MAX_QUESTION
from polyqa.colbert_index.filters import LONGEST

_QUESTION = "When did Titanic come out?"
_NAME = 200
CONDITION = (
    "Search only passages that fulfil this condition, such as `product = 'Falcon' and date >= 2024-01-01`; `/indexes` "
    "lists the columns."
)


class Ask(BaseModel):
    """A question, and what answers it."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        json_schema_extra={"examples": [{"question": _QUESTION}, {"question": _QUESTION, "program": "diva"}]},
    )

    question: str = Field(description=f"A question, ambiguous or not; at most {MAX_QUESTION:,} characters.")
    program: str | None = Field(None, max_length=_NAME, description="One of `/programs`; by default the server's.")
    index: str | None = Field(None, max_length=_NAME, description="One of `/indexes`; by default the server's.")
    where: str | None = Field(None, max_length=LONGEST, description=CONDITION)
    min_confidence: float | None = Field(None, ge=0, le=1, description="No answer unless a reading is so sure.")
    ask_back: bool = Field(False, description="Answer a question with several readings by a question back.")
    choice: str | None = Field(
        None,
        max_length=MAX_QUESTION,
        description="The reading to answer alone, by number or words of `clarification`; it searches nothing if the "
        "question was just asked.",
    )


class ErrorBody(BaseModel):
    """What went wrong."""

    message: str = Field(description="A sentence for people.")
    kind: str = Field(description="For programs: bad_request, unknown, busy, …")


class ErrorAnswer(BaseModel):
    """Why there is no answer."""

    error: ErrorBody


class Message(BaseModel):
    """A message of a conversation, as OpenAI has it."""

    role: str
    content: str | list[dict[str, Any]] | None = None


class Completion(BaseModel):
    """A request of OpenAI's chat completions; what is not named here is passed over."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"model": "diva", "messages": [{"role": "user", "content": _QUESTION}]}]}
    )

    messages: list[Message] = Field(min_length=1, max_length=1_000)
    model: str = Field("polyqa", max_length=_NAME, description="polyqa, polyqa/INDEX, PROGRAM, or PROGRAM/INDEX.")
    stream: bool | None = None
    stream_options: dict[str, Any] | None = None
    n: int | None = None
    where: str | None = Field(None, max_length=LONGEST, description=f"polyqa's own. {CONDITION}")
    ask_back: bool = Field(
        False, description="polyqa's own. Ask back where a question has several readings; the next message chooses one."
    )
