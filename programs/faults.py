"""What goes wrong with single calls: which failures a second try may mend, and what is kept of one."""

import re
from dataclasses import asdict, dataclass

from dspy.utils import exceptions as dspy_errors

from polyqa.base.keys import error_line

REFUSED = "a refusal instead of an answer"
_LONGEST = 300  # characters of a reply
# The same request fails again: the key, the model, the request or the set-up is wrong.
_LASTING = (
    dspy_errors.LMAuthError,
    dspy_errors.LMBillingError,
    dspy_errors.LMCollectionLimitError,
    dspy_errors.LMConfigurationError,
    dspy_errors.LMInvalidRequestError,
    dspy_errors.LMUnsupportedFeatureError,
)
# What an engine raises that has a mistake in it: DSPy wraps it as a failure that it does not know.
_BUGS = (AssertionError, AttributeError, ImportError, LookupError, NameError, NotImplementedError, TypeError)
_LONG_PAUSE = 60.0  # seconds; a server that wants a longer one refuses whatever is sent at once
_UNREAD = re.compile(r"Failed to parse field (\w+)")
_NO_TEXT = "The LM returned an empty or null response"


@dataclass(frozen=True)
class Fault:
    """A call whose reply could not be had although it was asked for twice, or of which only a part came.

    Attributes
    ----------
    step
        Name of the predictor.
    field
        The first output field that was lacking or could not be read; empty if no reply came.
    error
        What went wrong, in one line.
    reply
        The first 300 characters of the reply; empty if none came.
    became
        What stands in for it, in words.
    """

    step: str
    field: str
    error: str
    reply: str
    became: str

    @classmethod
    def of(cls, error: Exception, step: str, became: str, *, cut: bool = False) -> "Fault":
        """Return the fault of a step that failed; ``cut`` says that the reply broke off."""
        said = "the reply broke off" if cut and reply_of(error) else in_a_line(error)
        return cls(step, field_of(error), said, reply_of(error)[:_LONGEST], became)

    @classmethod
    def of_part(cls, reply: str, step: str, field: str, became: str) -> "Fault":
        """Return the fault of a reply that could be read, but broke off in its last field."""
        return cls(step, field, "the reply broke off", reply.strip()[:_LONGEST], became)

    def to_dict(self) -> dict[str, str]:
        """Return the fault as JSON data."""
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.step}: {self.error}; {self.became}"


def may_be_mended(error: Exception) -> bool:
    """Return whether asking again may help: the reply could not be read, or the server failed for now."""
    if isinstance(error, dspy_errors.AdapterParseError):
        return True
    if (getattr(error, "retry_after", None) or 0) > _LONG_PAUSE:
        return False
    unexpected = isinstance(error, dspy_errors.LMUnexpectedError) and isinstance(error.__cause__, _BUGS)
    return isinstance(error, dspy_errors.LMError) and not isinstance(error, _LASTING) and not unexpected


def has_reply(error: Exception) -> bool:
    """Return whether a reply came that could not be read; it may be empty."""
    return isinstance(error, dspy_errors.AdapterParseError)


def is_silence(error: Exception) -> bool:
    """Return whether nothing was heard of the server: no connection, or no answer in time."""
    return isinstance(error, (dspy_errors.LMTimeoutError, dspy_errors.LMTransportError))


def takes_long(error: Exception) -> bool:
    """Return whether the error came after all the time that a call has."""
    return isinstance(error, dspy_errors.LMTimeoutError)


def reply_of(error: Exception) -> str:
    """Return the reply that could not be read; empty if there was none, or nothing but thoughts."""
    if not isinstance(error, dspy_errors.AdapterParseError) or str(error).startswith(_NO_TEXT):
        return ""
    return str(error.lm_response or "").strip()


def field_of(error: Exception) -> str:
    """Return the first output field that is lacking or could not be read; empty if no reply came."""
    if not isinstance(error, dspy_errors.AdapterParseError):
        return ""
    unread = _UNREAD.match(str(error))
    read = error.parsed_result or {}
    return unread[1] if unread else next((name for name in error.signature.output_fields if name not in read), "")


def in_a_line(error: Exception) -> str:
    """Return what went wrong."""
    if isinstance(error, dspy_errors.AdapterParseError):
        if str(error).partition("\n")[0].endswith(REFUSED):
            return f"the reply was {REFUSED}"
        return "the reply could not be read" if reply_of(error) else "the reply was empty"
    return f"the language model failed ({error_line(error, 160)})"
