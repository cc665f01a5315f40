"""What goes wrong with single calls: which failures a second try may mend, and what is kept of one."""

from dataclasses import asdict, dataclass

from dspy.utils import exceptions as dspy_errors

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


@dataclass(frozen=True)
class Fault:
    """A call whose reply could not be had, although it was asked for twice.

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
    def of(cls, error: Exception, step: str, became: str) -> "Fault":
        """Return the fault of a step that failed."""
        field = ""
        if isinstance(error, dspy_errors.AdapterParseError):
            read = error.parsed_result or {}
            field = next((name for name in error.signature.output_fields if name not in read), "")
        return cls(step, field, _line(error), reply_of(error)[:_LONGEST], became)

    def to_dict(self) -> dict[str, str]:
        """Return the fault as JSON data."""
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.step}: {self.error}; {self.became}"


def may_be_mended(error: Exception) -> bool:
    """Return whether asking again may help: the reply could not be read, or the server failed for now."""
    if isinstance(error, dspy_errors.AdapterParseError):
        return True
    return isinstance(error, dspy_errors.LMError) and not isinstance(error, _LASTING)


def reply_of(error: Exception) -> str:
    """Return the reply that could not be read; empty if there was none."""
    return str(error.lm_response or "").strip() if isinstance(error, dspy_errors.AdapterParseError) else ""


def _line(error: Exception) -> str:
    if isinstance(error, dspy_errors.AdapterParseError):
        return "the reply could not be read" if reply_of(error) else "the reply was empty"
    return f"the language model failed ({' '.join(str(error).split())[:160]})"
