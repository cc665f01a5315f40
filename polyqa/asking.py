"""Asks a program one question and reports what it took."""

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import anyio.to_thread
import dspy

from polyqa.base.errors import PolyqaError
from polyqa.base.event_loops import called
from polyqa.base.html import shortened
from polyqa.base.needed import ahead
from polyqa.base.text import INVISIBLE, SURROGATE, counted, in_paragraphs
from polyqa.base.values import Coverage, Interpretation, Passage, Sources, json_data, pop_sources, told_by
from polyqa.colbert_index import ColBERTIndex
from polyqa.extractive import MODEL_NAME, ExtractiveEngine
from polyqa.extractive.answer_kinds import asks_yes_or_no
from polyqa.lm.assigned import names_of, own_lms
from polyqa.lm.attempts import FailedCall
from polyqa.lm.dspy_internals import can_be_awaited
from polyqa.lm.recorder import Call, Recorder, recording
from polyqa.programs.base import Program
from polyqa.programs.citation import LESS_CERTAIN, with_marks
from polyqa.programs.sources import disagreements
from polyqa.replies.long_answers import tells_nothing

from .asking_back import Clarification, answer_of, choice_of, clarification
from .confidence import BIAS, BIAS_OF_A_MODEL, confidence
from .language_models import Models, shared_reader
from .less_certain import TOLD, TOLD_OF_A_MODEL, doubtful, told_apart, too_doubtful
from .loading import checked_program, default_program, index_of, warm_up
from .spelling import AsRead, as_read
from .standing import CLOSEST, LEAST, SURE, Standing, standing_of, unanswered, unsure

MAX_QUESTION = 2_000


@dataclass(frozen=True)
class Result:
    """A complete answer and what it took.

    Attributes
    ----------
    question, answer
        What was asked, as it was read, and the long-form answer.
    respelled
        Words of the question that stand nowhere in the corpus, and dates that no passage found has, with what each was
        read as, see `polyqa.spelling`.
    interpretations
        The readings with their short answers; ``pid`` names the passage in ``passages``. Empty if the question is not
        answered.
    doubtful
        If the question is answered, the readings with less than half of the surest one's confidence. They are not among
        ``interpretations``, and the answer tells them last, see `polyqa.less_certain`.
    passages
        The passages that the answer was written from, best first.
    sources
        For each reading which passages back it, and which say otherwise; empty for programs that do not compare them.
    confidence
        For each reading how likely it is right, in [0, 1]; ``None`` for one that cites no passage, or whose answer the
        passage gives in other words.
    standing
        ``answered``; ``unsure``, if no reading is sure: the answer quotes their sentences; or ``unanswered``: the
        answer quotes the sentences that come closest. A reading that is chosen keeps the question's.
    full_answer
        With ``ask_back``, where ``answer`` is a question back: the answer that was kept for `choose`.
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
        Calls that failed twice, and the fallback used for each.
    unheeded
        Predictor to the sentences of its instructions that the embedded engine passes over, see
        `polyqa.extractive.ExtractiveEngine.unheeded`; empty for other language models.
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
    faults: Sequence[FailedCall] = ()
    extra: dict[str, Any] = field(default_factory=dict)
    helper_lm: str | None = None
    unheeded: Mapping[str, Sequence[str]] = field(default_factory=dict)
    sources: Sequence[Sources] = ()
    confidence: Sequence[float | None] = ()
    standing: Standing = "answered"
    full_answer: str = field(default="", repr=False)
    doubtful: Sequence[Interpretation] = ()
    respelled: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def clarification(self) -> Clarification | None:
        """The question back whose choices are the readings; ``None`` if there are no two to choose from."""
        answered = self.standing == "answered"
        return clarification(self.question, self.interpretations, self.passages) if answered else None

    @property
    def asked_back(self) -> bool:
        """Whether the answer is a question back."""
        return bool(self.full_answer)

    def choose(self, reply: str | int) -> "Result":
        """Return the answer to the reading that a reply chooses, without a search or a call.

        Parameters
        ----------
        reply
            The number of a choice of ``clarification``, or words of it: ``2``, ``the ship``.

        Raises
        ------
        PolyqaError
            If there is nothing to choose from, or the reply fits none of the choices, or several.
        """
        clarification = self.clarification
        if clarification is None:
            raise PolyqaError("There is nothing to choose from: the question has one reading here, or no answer.")
        place = choice_of(str(reply), clarification, self.interpretations)
        if place is None:
            raise PolyqaError(f"{shortened(reply, 60)!r} is none of the choices, or several; {clarification.question}")
        return self.alone(place)

    def alone(self, place: int) -> "Result":
        """Return the answer to one reading, by its place from 0; the standing is that of the question, as it was."""
        reading = self.interpretations[place]
        other_readings = [other for at, other in enumerate(self.interpretations) if at != place]
        sure, *_ = (self.full_answer or self.answer).partition(LESS_CERTAIN)
        answer = answer_of(reading, other_readings, self.passages, sure)
        return replace(
            self,
            question=reading.question,
            answer=unsure([reading], self.passages, answer) if self.standing == "unsure" else answer,
            interpretations=(reading,),
            sources=self.sources[place : place + 1],
            confidence=self.confidence[place : place + 1],
            full_answer="",
            doubtful=(),
            calls=(),
            input_tokens=0,
            output_tokens=0,
            seconds=0.0,
            faults=(),
            extra={},
        )

    @cached_property
    def cited_answer(self) -> str:
        """The answer with ``[n]`` in the sentences that tell a reading: the n-th of ``passages`` says so."""
        if self.asked_back or self.standing != "answered":  # it has its marks
            return self.answer
        disagreement = disagreements(self.interpretations, self.sources)
        readings = [*self.interpretations, *self.doubtful]
        body = with_marks(self.answer.removesuffix(disagreement).rstrip(), readings, self.passages)
        numbers = {passage.pid: number for number, passage in enumerate(self.passages, 1)}
        return in_paragraphs(body, disagreements(self.interpretations, self.sources, numbers)) if disagreement else body

    def __repr__(self) -> str:
        readings = counted(len(self.interpretations), "reading")
        program_and_lm = f"program={shortened(self.program, 60)!r}, lm={shortened(self.lm, 60)!r}"
        return f"Result({shortened(self.question, 80)!r}, {readings}, {program_and_lm}, {self.seconds:.1f} s)"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the answer with links to its evidence, readings, passages, tree."""
        from polyqa.reports.result import result_html

        return result_html(self)

    def to_markdown(self) -> str:
        """Return the answer with its ``[n]``, the readings with their sources, and the passages cited, as Markdown."""
        from polyqa.reports.result import result_markdown

        return result_markdown(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON data; the messages of the calls are left out, their number stays."""
        clarification = self.clarification
        fields = [name for name in self.__dataclass_fields__ if name not in ("calls", "extra", "full_answer")]
        data = {name: json_data(getattr(self, name)) for name in fields} | {
            "asked_back": self.asked_back,
            "cited_answer": self.cited_answer,
            "answered": self.standing == "answered" and not self.asked_back,
            "clarification": None if clarification is None else clarification.to_dict(),
            "confidence": [None if sure is None else round(sure, 4) for sure in self.confidence],
            "calls": len(self.calls),
            "seconds": round(self.seconds, 3),
            "faults": [fault.to_dict() for fault in self.faults],
        }
        return data | {name: json_data(value) for name, value in self.extra.items() if name not in data}


def check_question(question: str) -> str:
    """Return the question without white space around it, and without what nobody sees in it.

    Raises
    ------
    PolyqaError
        If it is no text, empty, longer than 2,000 characters, or holds half a character (a lone surrogate).
    """
    if not isinstance(question, str):
        raise PolyqaError(f"A question is a text, not {question!r:.80}.")
    question = " ".join(question.split())
    if half := SURROGATE.search(question):
        raise PolyqaError(
            f"Character {half.start() + 1} of the question is half of one (U+{ord(half[0]):04X}) and cannot be sent. "
            "Type it again; a terminal that does not write UTF-8 is the usual cause."
        )
    question = " ".join(INVISIBLE.sub("", question).split())  # between words it would leave two spaces
    if not question:
        raise PolyqaError("The question is empty; ask something like: When did Titanic come out?")
    if len(question) > MAX_QUESTION:
        raise PolyqaError(
            f"The question has {len(question):,} characters; at most {MAX_QUESTION:,} are taken. "
            "Ask one question, without the text it is about."
        )
    return question


def can_be_asked(question: str) -> bool:
    """Return whether `check_question` takes a question."""
    try:
        check_question(question)
    except PolyqaError:
        return False
    return True


def check_confidence(least: float | None) -> None:
    """Raise a `PolyqaError` unless a number is a least confidence."""
    if least is not None and not (isinstance(least, int | float) and 0 <= least <= 1):
        raise PolyqaError(f"min_confidence is a probability, from 0 to 1, not {least!r:.80}.")


def ask(
    question: str,
    *,
    program: str | Path | dspy.Module | None = None,
    index: str | Path | ColBERTIndex | None = None,
    lm: str | dspy.LM | None = None,
    min_confidence: float | None = None,
    ask_back: bool = False,
    **settings: Any,
) -> Result:
    """Answer a question completely.

    Parameters
    ----------
    question
        At most 2,000 characters.
    program
        A name or path that `polyqa.load` takes, or a program from it (which saves loading again).
        If not given, ``spanwise`` for a language model on this machine (``local``), else ``auto``.
    index
        Where to look, see `polyqa.load`; not with a program from it.
    lm
        A name for `polyqa.language_model`, or a `dspy.LM`. If not given, what ``dspy.configure(lm=…)`` or
        ``dspy.context(lm=…)`` has set, and else the embedded engine. The adapter is that of DSPy's settings, too.
    min_confidence
        In [0, 1]: a question none of whose readings is so sure is not answered. If not given, 0.23 for the embedded
        engine, for whose readings it was fitted, and 0 for other language models, see `polyqa.standing`.
    ask_back
        Whether a question with several readings is answered by a question back; `Result.choose` answers the choice.
    settings
        More for `polyqa.load`, such as ``helper_lm`` or ``where="product = 'Falcon'"``; not with a program from it,
        which has its own.

    Raises
    ------
    PolyqaError
        If something the user gave is missing or wrong.
    """
    read, loaded, name, model = _ready(question, program, index, lm, min_confidence, settings)
    with recording(model, loaded) as recorder:
        prediction = called(loaded, question=read.question)
    result = result_of(read, prediction, name, loaded, model, recorder, min_confidence)
    return asking_back(result) if ask_back else result


async def aask(
    question: str,
    *,
    program: str | Path | dspy.Module | None = None,
    index: str | Path | ColBERTIndex | None = None,
    lm: str | dspy.LM | None = None,
    min_confidence: float | None = None,
    ask_back: bool = False,
    **settings: Any,
) -> Result:
    """Answer a question without blocking the event loop; see `ask`."""
    ready = partial(_ready, question, program, index, lm, min_confidence, settings)
    read, loaded, name, model = await asyncio.to_thread(ready)
    with recording(model, loaded) as recorder:
        prediction = await awaited(loaded, read.question)
    result = await asyncio.to_thread(result_of, read, prediction, name, loaded, model, recorder, min_confidence)
    return asking_back(result) if ask_back else result


def _ready(
    question: str,
    program: str | Path | dspy.Module | None,
    index: str | Path | ColBERTIndex | None,
    lm: str | dspy.LM | None,
    min_confidence: float | None,
    settings: Mapping[str, Any],
) -> tuple[AsRead, dspy.Module, str, dspy.LM]:
    """Return the question as it is read, the program and its name, and the language model, with all of it loaded."""
    question = check_question(question)
    check_confidence(min_confidence)
    model = Models(lm).answering()
    loaded, name = ready_program(default_program(model) if program is None else program, index, settings)
    warm_up(loaded, model)
    return as_read(question, loaded), loaded, name, model


def asking_back(result: Result) -> Result:
    """Return a result whose answer is a question back, if it has readings to choose from."""
    clarification = result.clarification
    if clarification is None:
        return result
    return replace(result, answer=clarification.numbered, full_answer=result.answer)


def ready_program(
    program: str | Path | dspy.Module, index: str | Path | ColBERTIndex | None, settings: Mapping[str, Any]
) -> tuple[dspy.Module, str]:
    """Return a program that is ready to be asked, and its name; one that is made already has its index."""
    make, name = checked_program(program, {"index": index, **settings})
    return make(), name


async def awaited(program: dspy.Module, question: str) -> Any:
    """Return what a program gives for a question; one that cannot be awaited runs in a thread of its own.

    That is one without ``aforward``, or with a language model without. If it is cancelled the calls of a `BoundedLM` in
    the thread are given up, and it makes no more. `dspy.asyncify` has eight threads for all, whatever number of
    questions is under way.
    """
    lms = [dspy.settings.lm, *own_lms(program).values()]
    if hasattr(program, "aforward") and all(map(can_be_awaited, lms)):
        return await program.acall(question=question)
    call = partial(program, question=question)
    given_up: Future[None] = Future()
    try:
        with ahead(given_up):
            return await anyio.to_thread.run_sync(call, abandon_on_cancel=True, limiter=anyio.CapacityLimiter(1))
    finally:
        given_up.set_result(None)


def result_of(
    read: AsRead,
    prediction: dspy.Prediction,
    name: str,
    program: dspy.Module,
    model: dspy.LM,
    recorder: Recorder,
    min_confidence: float | None = None,
) -> Result:
    """Return what a program gave for a question, how sure that is, and what it took; the prediction stays as it is.

    Errors as of `told_by`.
    """
    fields, answer, readings, passages = told_by(prediction, name)
    assigned = own_lms(program)
    own_confidence = _told_confidence(fields, len(readings))
    return _weighed(
        Result(
            question=read.question,
            respelled=read.respelled,
            answer=answer,
            interpretations=readings,
            passages=passages,
            sources=pop_sources(fields),
            coverage=fields.pop("coverage", None) if isinstance(fields.get("coverage"), Coverage | None) else None,
            program=name,
            lm=model.model,
            calls=recorder.calls,
            input_tokens=recorder.input_tokens,
            output_tokens=recorder.output_tokens,
            seconds=recorder.seconds,
            faults=_failed_calls(fields),
            extra=fields,
            helper_lm=names_of(assigned),
            unheeded=_unheeded(program, model, assigned),
        ),
        program,
        min_confidence,
        own_confidence,
        gives_readings=prediction.get("interpretations") is not None,
    )


def _told_confidence(fields: dict[str, Any], readings: int) -> list[float] | None:
    """Take from a prediction how sure the program is of each reading; another ``confidence`` is left in it."""
    own_confidence = fields.get("confidence")
    if not isinstance(own_confidence, list | tuple) or len(own_confidence) != readings:
        return None
    certain = all(isinstance(sure, int | float) and 0 <= sure <= 1 for sure in own_confidence)
    return list(fields.pop("confidence")) if certain else None


def _failed_calls(fields: dict[str, Any]) -> tuple[FailedCall, ...]:
    """Take from a prediction the calls that failed; what else a user's own program means by ``faults`` stays in it."""
    faults = fields.get("faults")
    taken = isinstance(faults, list | tuple) and all(isinstance(fault, FailedCall) for fault in faults)
    return tuple(fields.pop("faults")) if taken else ()


def _weighed(
    result: Result,
    program: dspy.Module,
    least: float | None,
    own_confidence: Sequence[float] | None,
    *,
    gives_readings: bool,
) -> Result:
    """Return a result with how sure its readings are, and with the answer that so sure readings deserve.

    How sure they are the program says (``own_confidence``); if not, the embedded reader does. The answer of a user's
    own program that gives no readings at all is told as it is.
    """
    readings, passages = result.interpretations, result.passages
    index = index_of(program)
    if not gives_readings or (index is None and not passages):  # the latter from memory, as such programs do
        answered = readings or not tells_nothing(result.answer, result.question)
        return replace(result, confidence=[None] * len(readings), standing="answered" if answered else "unanswered")
    judged = own_confidence is None and result.lm != MODEL_NAME  # a language model's answers, by the embedded reader
    bias, least_told = (BIAS_OF_A_MODEL, TOLD_OF_A_MODEL) if judged else (BIAS, TOLD)
    if own_confidence is None:
        sure = confidence(result.question, readings, passages, shared_reader(), bias)
    else:
        sure = list(own_confidence)
    if least is None:
        least = LEAST if result.lm == MODEL_NAME else 0.0
    quotes = result.lm == MODEL_NAME and asks_yes_or_no(result.question)
    standing = "unanswered" if quotes else standing_of(sure, least)
    result = replace(result, confidence=sure, standing=standing)
    if standing == "answered":
        return _apart(result, program, too_doubtful(sure, least_told))
    if standing == "unsure":
        return replace(result, answer=unsure(readings, passages, result.answer))
    universe = result.extra.get("universe")  # of a user's own program it may be anything
    if not passages and isinstance(universe, list | tuple):  # VERDICT reports those of its readings alone
        passages = [one for one in universe if isinstance(one, Passage)][:CLOSEST]
    surest = max((one for one in sure if one is not None), default=None)
    if quotes or (None not in sure and (surest or 0.0) < LEAST):
        answer = unanswered(result.question, index, passages, shared_reader(), quotes=quotes)
    else:  # only the caller's own bar withholds it
        how_sure = "none can be judged" if surest is None else f"the surest has a confidence of {surest:.4g}"
        answer = f"No answer is sure enough: {how_sure}, and {least:g} is asked for."
    topics = " ".join([result.question, *(passage.title for passage in passages)])
    if not readings and result.lm != MODEL_NAME and not tells_nothing(result.answer, topics):
        answer = f"{answer}\nWithout naming a passage, {result.lm} says: {result.answer}"
    return replace(_keeping(result, program, []), answer=answer, passages=passages)


def _apart(result: Result, program: dspy.Module, untold: Sequence[int]) -> Result:
    """Return a result whose answer tells each reading, and doubtful ones, which are none of the result's, last."""
    readings, doubted = result.interpretations, doubtful(result.confidence)
    body = result.answer.removesuffix(disagreements(readings, result.sources)).rstrip()
    sure = [place for place, confident in enumerate(result.confidence) if confident and confident >= SURE]
    answer, staying = told_apart(result.question, body, readings, doubted, result.passages, untold, sure)
    remaining = result if len(staying) == len(readings) else _keeping(result, program, staying)
    answer = in_paragraphs(answer, disagreements(remaining.interpretations, remaining.sources))
    return replace(remaining, answer=answer, doubtful=[readings[at] for at in doubted if at not in {*staying, *untold}])


def _keeping(result: Result, program: dspy.Module, places: Sequence[int]) -> Result:
    """Return a result with some of its readings alone, and with what it says of each."""
    own_fields = {"interpretations": result.interpretations, "sources": result.sources}
    parts = dspy.Prediction(**{**result.extra, **own_fields})  # a user's own program may mean something else by sources
    (program if isinstance(program, Program) else Program()).keep_readings(parts, places)
    return replace(
        result,
        interpretations=tuple(parts.interpretations),
        sources=tuple(parts.sources),
        confidence=tuple(result.confidence[place] for place in places),
        extra={name: value if name in own_fields else parts[name] for name, value in result.extra.items()},
    )


def _unheeded(program: dspy.Module, model: dspy.LM, assigned: Mapping[str, dspy.LM]) -> dict[str, tuple[str, ...]]:
    """Return what the embedded engine passes over in the instructions of the predictors that ask it."""
    unheeded: dict[str, tuple[str, ...]] = {}
    for name, predictor in program.named_predictors():
        engine = getattr(assigned.get(name, model), "engine", None)
        if isinstance(engine, ExtractiveEngine) and (sentences := engine.unheeded(predictor.signature)):
            unheeded[name] = sentences
    return unheeded
