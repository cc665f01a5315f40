"""How a command ends of which a part failed: exit code 3, or 2 if nothing came of it."""

from collections import Counter
from typing import TYPE_CHECKING

import typer

from .terminal import say

if TYPE_CHECKING:
    from polyqa.evaluation.runs import Run

NOTHING_DONE, WITH_FAILURES = 2, 3
_LONGEST = 300


def end_with_failures(*runs: "Run") -> None:
    """Say how many questions of the runs failed and why most of them did, and end the command; return if none did."""
    errors = [record.error for run in runs for record in run.records if record.error is not None]
    if not errors:
        return
    from polyqa.base.text import counted

    asked = sum(len(run.records) for run in runs)
    ((message, times),) = Counter(error.message or error.kind for error in errors).most_common(1)
    why = message[:_LONGEST].rstrip(". ") + (f" ({times} times)" if 1 < times < len(errors) else "")
    say(f"{len(errors)} of {counted(asked, 'question')} failed: {why}. The same command asks them again.", err=True)
    raise typer.Exit(NOTHING_DONE if len(errors) == asked else WITH_FAILURES)
