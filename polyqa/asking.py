"""Asks a program one question and reports what it took."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dspy
from dspy.utils.callback import BaseCallback

from colbert_index import ColBERTIndex
from signatures import Coverage, Interpretation, Passage, PolyqaError

from .composition import DEFAULT_INDEX, DEFAULT_PROGRAM, language_model, load

MAX_QUESTION = 2_000


@dataclass(frozen=True)
class Call:
    """One call of the language model: the messages sent and the raw reply."""

    messages: list[dict[str, Any]]
    reply: str


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
    extra: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON data; the messages of the calls are left out, their number stays."""
        return {
            "question": self.question,
            "answer": self.answer,
            "interpretations": [item.model_dump(mode="json") for item in self.interpretations],
            "passages": [item.model_dump(mode="json") for item in self.passages],
            "coverage": self.coverage,
            "program": self.program,
            "lm": self.lm,
            "calls": len(self.calls),
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "seconds": round(self.seconds, 3),
            **self.extra,
        }


class _Recorder(BaseCallback):
    """Keeps the messages and replies of the language model's calls."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._open: dict[str, list[dict[str, Any]]] = {}
        self._lock = threading.Lock()

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        with self._lock:
            self._open[call_id] = _as_messages(inputs)

    def on_lm_end(self, call_id: str, outputs: Any, exception: Exception | None = None) -> None:
        with self._lock:
            self.calls.append(Call(self._open.pop(call_id, []), "" if outputs is None else _as_text(outputs)))


def _as_messages(inputs: dict[str, Any]) -> list[dict[str, Any]]:
    request = inputs.get("request")
    if request is None:
        return list(inputs.get("messages") or [{"role": "user", "content": str(inputs.get("prompt", ""))}])
    system = request.system
    head = "" if system is None else system if isinstance(system, str) else "".join(p.text for p in system)
    shown = [{"role": "system", "content": head}] if head else []
    return shown + [{"role": message.role, "content": message.text or ""} for message in request.messages]


def _as_text(outputs: Any) -> str:
    message = getattr(outputs, "message", None)
    if message is not None:
        return message.text or ""
    first = outputs[0] if isinstance(outputs, (list, tuple)) and outputs else outputs
    return str(first.get("text", first)) if isinstance(first, dict) else str(first)


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
    program: str | dspy.Module = DEFAULT_PROGRAM,
    index: str | Path | ColBERTIndex = DEFAULT_INDEX,
    lm: str | dspy.LM | None = None,
    **settings: Any,
) -> Result:
    """Answer a question completely.

    Parameters
    ----------
    question
        At most 2,000 characters.
    program
        A name, or a program from `polyqa.load` (which saves loading again).
    index
        Where to look; not used if ``program`` is a program.
    lm
        A name for `polyqa.language_model`, or a `dspy.LM`; the embedded engine if not given.
    settings
        More for `polyqa.load`.

    Raises
    ------
    PolyqaError
        If something the user gave is missing or wrong.
    """
    question = check_question(question)
    ready = load(program, index=index, **settings) if isinstance(program, str) else program
    model = _model(lm)
    recorder = _Recorder()
    started = time.perf_counter()
    with dspy.context(lm=model, adapter=dspy.ChatAdapter(), callbacks=[recorder], track_usage=True):
        prediction = ready(question=question)
    return _result(question, prediction, program, ready, model, recorder, time.perf_counter() - started)


async def aask(
    question: str,
    *,
    program: str | dspy.Module = DEFAULT_PROGRAM,
    index: str | Path | ColBERTIndex = DEFAULT_INDEX,
    lm: str | dspy.LM | None = None,
    **settings: Any,
) -> Result:
    """Answer a question without blocking the event loop; see `ask`."""
    question = check_question(question)
    ready = load(program, index=index, **settings) if isinstance(program, str) else program
    model = _model(lm)
    recorder = _Recorder()
    started = time.perf_counter()
    with dspy.context(lm=model, adapter=dspy.ChatAdapter(), callbacks=[recorder], track_usage=True):
        prediction = await ready.acall(question=question)
    return _result(question, prediction, program, ready, model, recorder, time.perf_counter() - started)


def _model(lm: str | dspy.LM | None) -> dspy.LM:
    return language_model(lm) if isinstance(lm, str) else lm or language_model()


def _result(
    question: str,
    prediction: dspy.Prediction,
    program: str | dspy.Module,
    ready: dspy.Module,
    model: dspy.LM,
    recorder: _Recorder,
    seconds: float,
) -> Result:
    usage = (prediction.get_lm_usage() or {}).values()
    fields = dict(prediction.items())
    coverage = fields.pop("coverage", None)
    return Result(
        question=question,
        answer=fields.pop("answer"),
        interpretations=fields.pop("interpretations"),
        passages=fields.pop("passages"),
        coverage=coverage,
        program=program if isinstance(program, str) else type(ready).__name__,
        lm=model.model,
        calls=recorder.calls,
        input_tokens=sum(int(own.get("prompt_tokens") or 0) for own in usage),
        output_tokens=sum(int(own.get("completion_tokens") or 0) for own in usage),
        seconds=seconds,
        extra=fields,
    )
