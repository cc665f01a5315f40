"""The calls of one question: two attempts each, then a fallback, and a record of what failed.

A call whose reply cannot be read, or whose server fails, is made once more; the unreadable reply leaves DSPy's cache.
If that fails too, the call's `Fallback` takes its place and the `FailedCall` is recorded; without a fallback the error
is raised, with the name of the predictor. A server that is down is not a bad reply: where nothing is heard of it at
all, or two steps in a row get no reply, its error is raised instead of answering without a language model.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, NamedTuple

import dspy
from dspy.utils import exceptions as dspy_errors
from dspy.utils.exceptions import AdapterParseError

from polyqa.base.errors import PolyqaError
from polyqa.base.keys import error_line

from .calls import Fallback, drop_unfinished, fallback_for
from .errors import explain_unreadable, is_filtered, unreadable_reply
from .exchanges import CUT, Exchange, exchanging
from .long_answers import REFUSED, clean_reply
from .recorded import attempt
from .sampling import NO_SAMPLING, sampling_for

_WARMER = 0.3  # temperature of a second attempt where the first had 0: else the reply would be the same
_SILENT_STEPS = 2  # after so many without any reply the server is taken to be down
_REPLY_SHOWN = 300  # characters
_LONG_PAUSE = 60.0  # seconds; a server that wants a longer one refuses whatever is sent at once
_UNREAD_FIELD = re.compile(r"Failed to parse field (\w+)")
# The same request fails again: the key, the model, the request or the set-up is wrong.
_LASTING = (
    dspy_errors.LMAuthError,
    dspy_errors.LMBillingError,
    dspy_errors.LMCollectionLimitError,
    dspy_errors.LMConfigurationError,
    dspy_errors.LMInvalidRequestError,
    dspy_errors.LMUnsupportedFeatureError,
)
# Nothing was heard of the server: no connection, or no answer in time.
_SILENCE = (dspy_errors.LMTimeoutError, dspy_errors.LMTransportError)
# What an engine raises that has a mistake in it: DSPy wraps it as a failure that it does not know.
_BUGS = (AssertionError, AttributeError, ImportError, LookupError, NameError, NotImplementedError, TypeError)


@dataclass(frozen=True)
class FailedCall:
    """A call that failed twice, or whose reply broke off, and what took its place.

    Attributes
    ----------
    step
        Name of the predictor.
    field
        The first output field that was missing or could not be read; empty if no reply came.
    error
        What went wrong, in one line.
    reply
        The first 300 characters of the reply; empty if none came.
    became
        The fallback that was used, in words.
    """

    step: str
    field: str
    error: str
    reply: str
    became: str

    def to_dict(self) -> dict[str, str]:
        """Return the record as JSON data."""
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.step}: {self.error}; {self.became}"


@dataclass(frozen=True)
class Outcome:
    """What a call gave: the reply or its fallback, what failed if no whole reply came, the server's error if none."""

    prediction: dspy.Prediction
    failed: FailedCall | None = None
    lost: Exception | None = None


@dataclass
class CallLog:
    """Makes the calls of one question, and records those that fail in the order of the algorithm."""

    names: Mapping[int, str] = field(default_factory=dict)  # of predictors, by their `id`
    failed: list[FailedCall] = field(default_factory=list)
    answered: bool = False  # whether any reply has come, readable or not
    silent_steps: int = 0  # how many of the last steps got no reply at all

    @classmethod
    def of(cls, program: dspy.Module) -> "CallLog":
        """Return an empty log that knows the names of a program's predictors."""
        return cls({id(predictor): name for name, predictor in program.named_predictors()})

    def call(self, predictor: dspy.Module, inputs: Mapping[str, Any], fallback: Fallback | None = None) -> Outcome:
        """Call a predictor, twice if need be, and raise what it raised if another attempt or a fallback cannot help.

        ``fallback`` takes the place of a failed reply where `calls.CALLS` has nothing for the signature.
        """
        attempts = _Attempts(self, predictor, inputs, fallback)
        while attempts.outcome is None:
            with attempts.another() as succeeded:
                succeeded(predictor(**attempts.inputs))
        return attempts.outcome

    async def acall(
        self, predictor: dspy.Module, inputs: Mapping[str, Any], fallback: Fallback | None = None
    ) -> Outcome:
        """Call a predictor without blocking the event loop; see `call`."""
        attempts = _Attempts(self, predictor, inputs, fallback)
        while attempts.outcome is None:
            with attempts.another() as succeeded:
                succeeded(await predictor.acall(**attempts.inputs))
        return attempts.outcome

    def end_step(self, outcomes: Sequence[Outcome]) -> list[dspy.Prediction]:
        """Return the predictions of a step's calls, and record what failed in the order of the calls.

        Raises
        ------
        LMError
            If the server seems to be down: no call of this step was answered, and none of the step before; or
            nothing was heard of it at all.
        """
        lost = [outcome.lost for outcome in outcomes if outcome.lost is not None]
        if outcomes:
            self.silent_steps = self.silent_steps + 1 if len(lost) == len(outcomes) else 0
        unheard = not self.answered and all(isinstance(error, _SILENCE) for error in lost)
        if lost and (self.silent_steps >= _SILENT_STEPS or (self.silent_steps and unheard)):
            raise lost[0]
        self.failed.extend(outcome.failed for outcome in outcomes if outcome.failed is not None)
        return [outcome.prediction for outcome in outcomes]


class _Failure(NamedTuple):
    """An attempt that failed, why its reply broke off, the fallback for it, and how many readings that keeps."""

    error: Exception
    cut: str
    fallback: Fallback | None
    readings: int


class _Attempts:
    """The attempts of one call: the inputs of the next one, and the outcome once there is one."""

    def __init__(
        self, log: CallLog, predictor: dspy.Module, inputs: Mapping[str, Any], fallback: Fallback | None
    ) -> None:
        self.inputs = self._first_inputs = inputs
        self.outcome: Outcome | None = None
        self._log = log
        self._predictor = predictor
        self._fallback = fallback
        self._signature: type[dspy.Signature] | None = getattr(predictor, "signature", None)
        self._step = log.names.get(id(predictor), (self._signature or type(predictor)).__name__)
        self._failures: list[_Failure] = []

    @contextmanager
    def another(self) -> Iterator[Callable[[Any], None]]:
        """Make an attempt in the block, which gives the reply to the function that it gets, or raises."""
        unreadable = sum(isinstance(failure.error, AdapterParseError) for failure in self._failures)
        try:
            with exchanging() as exchange, attempt(unreadable + 1):
                yield partial(self._succeeded, exchange)
        except Exception as error:
            self._failed(error, exchange)

    def _succeeded(self, exchange: Exchange, reply: Any) -> None:
        """Take a readable reply, unless its long answer is none; one that broke off is recorded."""
        failed = None
        if self._signature is not None:
            try:
                clean_reply(self._signature, self._first_inputs, reply, exchange.reply)
            except Exception as error:
                if dspy.settings.trace and dspy.settings.trace[-1][2] is reply:
                    dspy.settings.trace.pop()
                if isinstance(error, AdapterParseError):
                    raise
                raise _as_unreadable(error, self._signature, exchange.reply) from error
            if exchange.cut and (unfinished := drop_unfinished(self._signature, reply, exchange.reply)):
                name, became = unfinished
                failed = FailedCall(self._step, name, CUT[exchange.cut], exchange.reply.strip()[:_REPLY_SHOWN], became)
        self._log.answered = True
        self.outcome = Outcome(reply, failed)

    def _failed(self, error: Exception, exchange: Exchange) -> None:
        """Prepare another attempt, take the fallback, or raise the error."""
        if isinstance(error, dspy_errors.LMUnexpectedError) and isinstance(error.__cause__, PolyqaError):
            error = error.__cause__  # an engine says what its user can mend, such as a damaged file
        if exchange.replied and self._signature is not None:
            error = _as_unreadable(error, self._signature, exchange.reply)
        unreadable = isinstance(error, AdapterParseError)
        self._log.answered |= unreadable
        if not _may_be_mended(error):
            raise self._named(error)
        cut = exchange.cut if unreadable else ""
        if cut == "length":
            error.cut_after = exchange.limit  # type: ignore[attr-defined]
        fallback = self._fallback
        if self._signature is not None:
            reply = unreadable_reply(error)
            fallback = fallback_for(self._signature, self._first_inputs, reply, cut=bool(cut)) or fallback
        self._failures.append(_Failure(error, cut, fallback, fallback.readings if fallback else 0))
        breaks_off_again = cut and self._failures[0].readings
        server_is_down = isinstance(error, dspy_errors.LMTimeoutError) and not self._log.answered
        if len(self._failures) == 1 and not breaks_off_again and not server_is_down:
            self.inputs = self._warmer()
            return
        # Of two replies the one of which more readings could be kept counts, else the last.
        failure = max(reversed(self._failures), key=lambda failure: failure.readings)
        if failure.fallback is None:
            raise self._named(error)
        answered = any(isinstance(failed.error, AdapterParseError) for failed in self._failures)
        lost = None if answered else self._named(error)
        prediction = dspy.Prediction(**deepcopy(dict(failure.fallback.fields)))
        self.outcome = Outcome(prediction, self._record(failure, failure.fallback.became), lost)

    def _record(self, failure: _Failure, became: str) -> FailedCall:
        error, reply = failure.error, unreadable_reply(failure.error)
        if failure.cut:
            why = CUT[failure.cut]
            text = why if reply else f"{why} before its first word" + " (--max-tokens)" * (failure.cut == "length")
        elif not isinstance(error, AdapterParseError):
            text = f"the language model failed ({error_line(error, 160)})"
        elif str(error).partition("\n")[0].endswith(REFUSED):
            text = f"the reply was {REFUSED}"
        else:
            text = "the reply could not be read" if reply else "the reply was empty"
        return FailedCall(self._step, _field_of(error), text, reply[:_REPLY_SHOWN], became)

    def _warmer(self) -> Mapping[str, Any]:
        """Return the inputs of another attempt, at a temperature above 0."""
        lm = getattr(self._predictor, "lm", None) or dspy.settings.lm
        sampling = sampling_for(lm, getattr(self._predictor, "sampling", NO_SAMPLING))
        if lm is None or sampling.get("temperature", lm.kwargs.get("temperature")) != 0:
            return self._first_inputs
        config = {**self._first_inputs.get("config", {}), "temperature": _WARMER}
        return {**self._first_inputs, "config": config}

    def _named(self, error: Exception) -> Exception:
        name = _field_of(error)
        error.add_note(f"step {self._step}" + (f", field {name}" if name else ""))
        if isinstance(error, AdapterParseError):
            explain_unreadable(error)
        return error


def _as_unreadable(error: Exception, signature: type[dspy.Signature], reply: str) -> AdapterParseError:
    """Return the error of an adapter; one of the parts that it is made of has neither signature nor reply."""
    if isinstance(error, AdapterParseError):
        return error
    unreadable = AdapterParseError("in use", signature, reply, f"{type(error).__name__}: {error}")
    unreadable.__cause__ = error
    return unreadable


def _may_be_mended(error: Exception) -> bool:
    """Return whether asking again may help: the reply could not be read, was filtered, or the server failed for now."""
    if isinstance(error, AdapterParseError) or is_filtered(error):
        return True
    if (getattr(error, "retry_after", None) or 0) > _LONG_PAUSE:
        return False
    is_bug = isinstance(error, dspy_errors.LMUnexpectedError) and isinstance(error.__cause__, _BUGS)
    return isinstance(error, dspy_errors.LMError) and not isinstance(error, _LASTING) and not is_bug


def _field_of(error: Exception) -> str:
    """Return the first output field that is missing or could not be read; empty if no reply came."""
    if not isinstance(error, AdapterParseError):
        return ""
    unread = _UNREAD_FIELD.match(str(error))
    read = error.parsed_result or {}
    return unread[1] if unread else next((name for name in error.signature.output_fields if name not in read), "")
