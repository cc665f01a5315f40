"""What a command says about errors, and its exit code: 3 if a part of it failed, 2 if nothing came of it."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from polyqa.base.errors import PolyqaError
from polyqa.base.text import counted

from .terminal import say

if TYPE_CHECKING:
    from polyqa.evaluation.runs import Run

NOTHING_DONE, WITH_FAILURES = 2, 3
_LONGEST = 300
# Python, torch, Lance and Rust's libraries each say in another way that a disk takes nothing more.
_FULL = re.compile(
    r"no space left|disk quota exceeded|file too large|os error (?:28|122|27)\b|database or disk is full|"
    r"disk i/o error|PytorchStreamWriter failed writing|inline_container\.cc:\d+\] \. unexpected pos|"
    r"basic_ios::clear: iostream error",
    re.I,
)


def end_with_failures(*runs: "Run") -> None:
    """Say how many questions of the runs failed and why most of them did, and end the command; return if none did."""
    errors = [record.error for run in runs for record in run.records if record.error is not None]
    if not errors:
        return
    question_count = sum(len(run.records) for run in runs)
    ((message, times),) = Counter(error.message or error.kind for error in errors).most_common(1)
    why = message[:_LONGEST].rstrip(". ") + (f" ({times} times)" if 1 < times < len(errors) else "")
    questions = counted(question_count, "question")
    say(f"{len(errors)} of {questions} failed: {why}. The same command asks them again.", err=True)
    raise typer.Exit(NOTHING_DONE if len(errors) == question_count else WITH_FAILURES)


def fail(error: Exception) -> int:
    """Print an error on one line; return 2 if the user can mend it, else 1."""
    message, code = explain(error)
    say(f"polyqa: {message}", err=True)
    return code


def explain(error: Exception) -> tuple[str, int]:
    """Return what to tell the user about an error, and the exit code."""
    text = " ".join(str(error).split())
    if isinstance(error, PolyqaError):
        return text, 2
    explanation = disk_error(error) or _language_model_error(error)
    if explanation is not None:
        return explanation, 2
    kind = type(error).__name__
    if isinstance(error, (ImportError, MemoryError, OSError)):
        return text or kind, 2
    return f"unexpected {kind}: {text[:300]} (run again with --debug for the traceback, and report it)", 1


def _language_model_error(error: Exception) -> str | None:
    import dspy
    from dspy.utils import exceptions as dspy_errors

    from polyqa.lm.client import CallTimeoutError
    from polyqa.lm.errors import explain as explain_error
    from polyqa.lm.errors import explain_unreadable
    from polyqa.lm.recorded import MissingReplyError

    if isinstance(error, dspy_errors.AdapterParseError):
        explain_unreadable(error)
        return str(error)
    if not isinstance(error, dspy_errors.LMError) and not isinstance(error, dspy.lm15.LM15Error):
        return None
    if isinstance(error, dspy_errors.LMError) and not isinstance(error, (CallTimeoutError, MissingReplyError)):
        explain_error(error)
    return " ".join((*str(error).split(), *(f"({note})" for note in getattr(error, "__notes__", ()))))


def disk_error(error: BaseException) -> str | None:
    """Return in a line that a disk is full, ``None`` if an error is about something else.

    >>> disk_error(OSError(28, "No space left on device", "runs/a/run.json"))
    'the disk is full, or a file is at its size limit (runs/a/run.json). Free space; the same command goes on.'
    >>> disk_error(RuntimeError("I/O error: No space left on device (os error 28)"))
    'the disk is full, or a file is at its size limit. Free space; the same command goes on.'
    """
    for cause in _chain(error):
        if _FULL.search(str(cause)):
            where = f" ({cause.filename})" if isinstance(cause, OSError) and cause.filename else ""
            return f"the disk is full, or a file is at its size limit{where}. Free space; the same command goes on."
    return None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and what it was made of."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
