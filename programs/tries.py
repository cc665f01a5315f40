"""The tries of one call: what is tried again, what something stands in for, and what ends a question.

A server that is down is no bad reply: where nothing is heard of it at all, or two steps in a row get no reply, its
error is raised instead of a question's being answered without a language model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dspy
from dspy.utils.exceptions import AdapterParseError

from polyqa.lm.exchanges import UNREADABLE, Exchange

from .faults import Fault, field_of, has_reply, is_silence, may_be_mended, reply_of, takes_long
from .long_answers import settle_answer
from .sampling import NO_SAMPLING, sampling_for
from .stand_ins import StandIn, cut_short, stand_in

_WARMER = 0.3  # temperature of a second try where the first had 0
_SILENT_STEPS = 2  # after so many without any reply the server is taken to be down


@dataclass(frozen=True)
class Call:
    """A call of a predictor.

    Attributes
    ----------
    predictor, inputs
        What is called with what.
    otherwise
        Stands in for a reply that cannot be had, where nothing in `stand_ins` does.
    """

    predictor: dspy.Module
    inputs: Mapping[str, Any]
    otherwise: StandIn | None = None


@dataclass(frozen=True)
class Instead:
    """What a call gives whose reply is not whole.

    Attributes
    ----------
    prediction
        What there is of the reply, or stands in for it.
    fault
        What happened.
    lost
        The error of the server, if no reply came.
    """

    prediction: dspy.Prediction
    fault: Fault
    lost: Exception | None = None


@dataclass
class Faults:
    """Keeps the faults of one question, and knows the names of the steps.

    Attributes
    ----------
    names
        Of predictors, by their `id`.
    found
        In the order of the algorithm.
    answered
        Whether a reply has come, readable or not.
    silent
        How many of the last steps got no reply at all.
    not_needed
        How many calls were made ahead whose reply was not needed, and not waited for.
    """

    names: Mapping[int, str] = field(default_factory=dict)
    found: list[Fault] = field(default_factory=list)
    answered: bool = False
    silent: int = 0
    not_needed: int = 0

    @classmethod
    def of(cls, program: dspy.Module) -> "Faults":
        """Return the place for the faults of a program."""
        return cls({id(predictor): name for name, predictor in program.named_predictors()})

    def name(self, predictor: dspy.Module) -> str:
        """Return the name of a step."""
        return self.names.get(id(predictor), type(predictor).__name__)

    def settle(self, results: Sequence[Any]) -> list[Any]:
        """Return the replies of a step, and keep its faults in the order of the calls.

        Raises
        ------
        LMError
            If the server seems to be down: no call of this step was answered, and none of the step before; or
            nothing was heard of it at all.
        """
        missing = [one for one in results if isinstance(one, Instead)]
        lost = [one.lost for one in missing if one.lost is not None]
        if results:
            self.silent = self.silent + 1 if len(lost) == len(results) else 0
        unheard = not self.answered and all(is_silence(error) for error in lost)
        if lost and (self.silent >= _SILENT_STEPS or (self.silent and unheard)):
            raise lost[0]
        self.found.extend(one.fault for one in missing)
        return [prediction_of(one) for one in results]


def prediction_of(result: Any) -> Any:
    """Return the prediction of a call, or what stands in for it."""
    return result.prediction if isinstance(result, Instead) else result


class Tries:
    """Decides after each try of a call whether there is another, and what comes of the call.

    Attributes
    ----------
    inputs
        Of the next try.
    """

    def __init__(self, call: Call, faults: Faults) -> None:
        self.inputs: Mapping[str, Any] = call.inputs
        self._call = call
        self._faults = faults
        self._step = faults.name(call.predictor)
        self._signature: type[dspy.Signature] | None = getattr(call.predictor, "signature", None)
        self._failed: list[_Failed] = []

    def settled(self, reply: Any, exchange: Exchange) -> Any:
        """Return a reply whose long answer, if it has one, is an answer; see `long_answers.settle_answer`.

        Raises
        ------
        AdapterParseError
            If it is none; then the call leaves no trace.
        """
        if self._signature is not None:
            try:
                settle_answer(self._signature, self._call.inputs, reply, exchange.reply)
            except AdapterParseError:
                if dspy.settings.trace and dspy.settings.trace[-1][2] is reply:
                    dspy.settings.trace.pop()
                raise
        return reply

    def came(self, reply: Any, exchange: Exchange) -> Any:
        """Return the reply of a try; with its fault, if it broke off."""
        self._faults.answered = True
        lacks = cut_short(self._signature, reply, exchange.reply) if exchange.cut and self._signature else None
        return reply if lacks is None else Instead(reply, Fault.of_part(exchange.reply, self._step, *lacks))

    def failed(self, error: Exception, exchange: Exchange) -> Instead | None:
        """Return what stands in for the reply, ``None`` if there is to be another try, or raise the error."""
        if isinstance(error, UNREADABLE) and exchange.reply and self._signature is not None:
            error = _as_unreadable(error, self._signature, exchange.reply)
        self._faults.answered |= has_reply(error)
        if not may_be_mended(error):
            raise self._named(error)
        first = not self._failed
        cut = exchange.cut and has_reply(error)
        self._failed.append(_Failed(error, cut, self._stand_in(error, cut)))
        breaks_off_again = cut and self._failed[0].kept
        if first and not breaks_off_again and not self._seems_down(error):
            self.inputs = self._again()
            return None
        # Of two replies that one counts of which more could be kept, else the last.
        chosen = max(reversed(self._failed), key=lambda one: one.kept)
        instead = chosen.instead or self._call.otherwise
        if instead is None:
            raise self._named(error)
        fault = Fault.of(chosen.error, self._step, instead.became, cut=chosen.cut)
        lost = None if any(has_reply(one.error) for one in self._failed) else self._named(error)
        return Instead(dspy.Prediction(**instead.fields), fault, lost)

    def _seems_down(self, error: Exception) -> bool:
        return takes_long(error) and not self._faults.answered

    def _stand_in(self, error: Exception, cut: bool) -> StandIn | None:
        if self._signature is None:
            return None
        return stand_in(self._signature, self._call.inputs, reply_of(error), cut=cut)

    def _again(self) -> Mapping[str, Any]:
        """Return the inputs of another try, at a temperature above 0: else the reply would be the same."""
        lm = getattr(self._call.predictor, "lm", None) or dspy.settings.lm
        own = sampling_for(lm, getattr(self._call.predictor, "sampling", NO_SAMPLING))
        if lm is None or own.get("temperature", lm.kwargs.get("temperature")) != 0:
            return self._call.inputs
        return {**self._call.inputs, "config": {**self._call.inputs.get("config", {}), "temperature": _WARMER}}

    def _named(self, error: Exception) -> Exception:
        field = field_of(error)
        error.add_note(f"step {self._step}" + (f", field {field}" if field else ""))
        return error


@dataclass(frozen=True)
class _Failed:
    """A try that failed, whether its reply broke off, and what could stand in for it."""

    error: Exception
    cut: bool
    instead: StandIn | None

    @property
    def kept(self) -> int:
        return self.instead.kept if self.instead else 0


def _as_unreadable(error: Exception, signature: type[dspy.Signature], reply: str) -> AdapterParseError:
    """Return the error of an adapter; one of the parts that it is made of tells neither signature nor reply."""
    if isinstance(error, AdapterParseError):
        return error
    unreadable = AdapterParseError("in use", signature, reply, f"{type(error).__name__}: {error}")
    unreadable.__cause__ = error
    return unreadable
