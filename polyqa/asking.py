"""Asks a program one question and reports what it took."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dspy
from pydantic_core import to_jsonable_python

from polyqa.artifacts.lms import names_of, own_lms
from polyqa.colbert_index import ColBERTIndex
from polyqa.engines.extractive import MODEL_NAME
from polyqa.evaluation.recording import Call, Recorder, recording
from polyqa.programs.citation import with_marks
from polyqa.programs.faults import Fault
from polyqa.signatures import Coverage, Interpretation, Passage, PolyqaError

from .loading import DEFAULT_PROGRAM, load
from .models import Models

MAX_QUESTION = 2_000


@dataclass(frozen=True)
class Result:
    """A complete answer and what it took.

    Attributes
    ----------
    question, answer
        What was asked, and the long-form answer.
    interpretations
        The readings with their short answers; ``pid`` names the passage in ``passages``.
    passages
        The passages that the answer was written from, best first.
    coverage
        How many readings the passages cover; ``None`` for programs that do not verify.
    extra
        What else the program reports, such as ``pseudo_interpretations``.
    program, lm
        Their names.
    calls
        Calls of the language model, in the order in which they ended.
    input_tokens, output_tokens
        Sums over the calls, as the provider reports them.
    seconds
        From the question to the answer, loading not counted.
    faults
        Calls whose reply could not be had although it was asked for twice, and what stands in for each.
    helper_lm
        What ran predictors with a language model of their own; ``None`` if there are none.
    """

    question: str
    answer: str
    interpretations: Sequence[Interpretation]
    passages: Sequence[Passage]
    coverage: Coverage | None
    program: str
    lm: str
    calls: Sequence[Call]
    input_tokens: int
    output_tokens: int
    seconds: float
    faults: Sequence[Fault] = ()
    extra: dict[str, Any] = field(default_factory=dict)
    helper_lm: str | None = None

    @property
    def cited_answer(self) -> str:
        """The answer with ``[n]`` in the sentences that tell a reading: the n-th of ``passages`` says so."""
        return with_marks(self.answer, self.interpretations, self.passages)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON data; the messages of the calls are left out, their number stays."""
        return {
            "question": self.question,
            "answer": self.answer,
            "cited_answer": self.cited_answer,
            "interpretations": [item.model_dump(mode="json") for item in self.interpretations],
            "passages": [item.model_dump(mode="json") for item in self.passages],
            "coverage": self.coverage,
            "program": self.program,
            "lm": self.lm,
            "helper_lm": self.helper_lm,
            "calls": len(self.calls),
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "seconds": round(self.seconds, 3),
            "faults": [fault.to_dict() for fault in self.faults],
            **to_jsonable_python(self.extra),
        }


def check_question(question: str) -> str:
    """Return the question without white space around it.

    Raises
    ------
    PolyqaError
        If it is empty, or longer than 2,000 characters.
    """
    question = " ".join(question.split())
    if not question:
        raise PolyqaError("The question is empty; ask something like: When did Titanic come out?")
    if len(question) > MAX_QUESTION:
        raise PolyqaError(
            f"The question has {len(question):,} characters; at most {MAX_QUESTION:,} are taken. "
            "Ask one question, without the text it is about."
        )
    return question


def ask(
    question: str,
    *,
    program: str | Path | dspy.Module = DEFAULT_PROGRAM,
    index: str | Path | ColBERTIndex | None = None,
    lm: str | dspy.LM | None = None,
    **settings: Any,
) -> Result:
    """Answer a question completely.

    Parameters
    ----------
    question
        At most 2,000 characters.
    program
        A name or path that `polyqa.load` takes, or a program from it (which saves loading again).
    index
        Where to look, see `polyqa.load`; not used if ``program`` is a program.
    lm
        A name for `polyqa.language_model`, or a `dspy.LM`; the embedded engine if not given.
    settings
        More for `polyqa.load`, such as ``helper_lm``; not with a program from it, which has its own.

    Raises
    ------
    PolyqaError
        If something the user gave is missing or wrong.
    """
    question, ready, model = _ready(question, program, lm, index, settings)
    with recording(model) as recorder:
        prediction = ready(question=question)
    return _result(question, prediction, program, ready, model, recorder)


async def aask(
    question: str,
    *,
    program: str | Path | dspy.Module = DEFAULT_PROGRAM,
    index: str | Path | ColBERTIndex | None = None,
    lm: str | dspy.LM | None = None,
    **settings: Any,
) -> Result:
    """Answer a question without blocking the event loop; see `ask`."""
    question, ready, model = _ready(question, program, lm, index, settings)
    with recording(model) as recorder:
        prediction = await ready.acall(question=question)
    return _result(question, prediction, program, ready, model, recorder)


def _ready(
    question: str,
    program: str | Path | dspy.Module,
    lm: str | dspy.LM | None,
    index: str | Path | ColBERTIndex | None,
    settings: dict[str, Any],
) -> tuple[str, dspy.Module, dspy.LM]:
    question = check_question(question)
    if isinstance(program, dspy.Module) and settings:
        raise PolyqaError(
            f"The program is made already: {', '.join(settings)} cannot be given. Make it with "
            f"polyqa.load(…, {next(iter(settings))}=…)."
        )
    ready = load(program, index=index, **settings) if isinstance(program, (str, Path)) else program
    return question, ready, Models(lm or MODEL_NAME).answering()


def _result(
    question: str,
    prediction: dspy.Prediction,
    program: str | Path | dspy.Module,
    ready: dspy.Module,
    model: dspy.LM,
    recorder: Recorder,
) -> Result:
    fields = dict(prediction.items())
    coverage = fields.pop("coverage", None)
    faults = tuple(fields.pop("faults", ()))
    return Result(
        question=question,
        answer=fields.pop("answer"),
        interpretations=fields.pop("interpretations"),
        passages=fields.pop("passages"),
        coverage=coverage,
        program=str(program) if isinstance(program, (str, Path)) else type(ready).__name__,
        lm=model.model,
        calls=recorder.calls,
        input_tokens=recorder.input_tokens,
        output_tokens=recorder.output_tokens,
        seconds=recorder.seconds,
        faults=faults,
        extra=fields,
        helper_lm=names_of(own_lms(ready)),
    )
