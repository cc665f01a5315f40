"""What becomes of a question when the language model's server fails: what the user is told, and what is kept.

python -m lab.faults lm [--program NAME …] [--question TEXT] [--timeout 2] [--json FILE]

A server on this machine answers as the embedded engine does, but for the prompts that fail, in one of twelve ways. Of
every program each step fails in turn (the first prompt of it, as often as it is sent), then, with one program, all
calls. A call is not sent again by the client (no retries), so what is seen is what is left when retries do not help;
the program itself asks once more.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import dspy
import typer
from rich.console import Console
from rich.progress import track

from polyqa.asking import ask
from polyqa.cli.app import explain
from polyqa.evaluation.dry_run import Rehearsal
from polyqa.evaluation.tables import markdown_table
from polyqa.language_models import embedded_engine, language_model
from polyqa.loading import load
from polyqa.programs.registry import REGISTRY

from ..latency_server import prompt_key
from ..results import Part, keep, today
from .lm_server import FAILURES, FaultyServer, faulty_server


class Outcome(Part):
    """What came of a question.

    Attributes
    ----------
    error
        What the user was told instead of an answer; empty if there was one.
    faults
        What stands in for the replies that could not be had, in words.
    readings
        How many readings the answer has.
    """

    error: str
    faults: list[str]
    readings: int


class Faults(Part):
    """A measurement.

    Attributes
    ----------
    command, date
        What repeats it, and the ISO date.
    question
        What was asked.
    all_calls
        Failure to outcome where all calls of the program ``shown`` fail.
    shown
        A program's name.
    steps
        Program to step to failure to outcome, where the first prompt of that step fails.
    """

    command: str
    date: str
    question: str
    shown: str
    all_calls: dict[str, Outcome]
    steps: dict[str, dict[str, dict[str, Outcome]]]

    def told(self) -> str:
        """Return as a table what the user is told where every call fails."""
        rows = (
            [FAILURES[name].told, f"`{one.error}`" if one.error else "an answer"]
            for name, one in self.all_calls.items()
        )
        return markdown_table(["every call", f"what `polyqa ask --program {self.shown}` says"], rows)

    def answered(self) -> str:
        """Return as a table how many of a program's steps may fail without losing the answer."""
        known = [
            name for name in FAILURES if any(name in one for steps in self.steps.values() for one in steps.values())
        ]
        rows = ([f"`{program}`", *(_share(steps, name) for name in known)] for program, steps in self.steps.items())
        return markdown_table(["program", *(FAILURES[name].told for name in known)], rows)

    def kept(self) -> str:
        """Return as a table what stands in for each step's reply."""
        rows = (
            [f"`{program}`", f"`{step}`", _stands_in(outcomes)]
            for program, steps in self.steps.items()
            for step, outcomes in steps.items()
        )
        return markdown_table(["program", "step", "in its place"], rows)


def _share(steps: Mapping[str, Mapping[str, Outcome]], failure: str) -> str:
    outcomes = [one[failure] for one in steps.values() if failure in one]
    return f"{sum(not one.error for one in outcomes)} of {len(outcomes)}"


def _stands_in(outcomes: Mapping[str, Outcome]) -> str:
    """Return what is told of the first call that failed, each wording once."""
    told = dict.fromkeys(one.faults[0] for one in outcomes.values() if not one.error and one.faults)
    return "; ".join(told) or "nothing: the question fails"


def measure(name: str, question: str, failures: Sequence[str], timeout: float) -> dict[str, dict[str, Outcome]]:
    """Let each step of a program fail in every way; return step to failure to outcome."""
    program = _made(name)
    run = Rehearsal(program, embedded_engine()).run(question)
    prompts: dict[str, str] = {}
    for call in run.calls:
        prompts.setdefault(call.step, prompt_key(call.messages))
    with faulty_server(embedded_engine()) as server:
        return {
            step: {failure: _outcome(server, program, question, timeout, failure, prompt) for failure in failures}
            for step, prompt in prompts.items()
        }


def measure_all(name: str, question: str, failures: Sequence[str], timeout: float) -> dict[str, Outcome]:
    """Let all calls of a program fail in every way; return failure to outcome."""
    program = _made(name)
    with faulty_server(embedded_engine()) as server:
        return {failure: _outcome(server, program, question, timeout, failure) for failure in failures}


def _made(name: str) -> dspy.Module:
    return load(name, preset="lean")


def _outcome(
    server: FaultyServer, program: dspy.Module, question: str, timeout: float, failure: str, prompt: str | None = None
) -> Outcome:
    lm = language_model("openai/m", api_base=server.base, api_key="none", cache=False, timeout=timeout, retries=0)
    with server.failing(FAILURES[failure], prompt):
        try:
            result = ask(question, program=program, lm=lm)
        except Exception as error:
            return Outcome(error=explain(error)[0], faults=[], readings=0)
    return Outcome(error="", faults=[one.became for one in result.faults], readings=len(result.interpretations))


def command(
    program: Annotated[
        list[str] | None, typer.Option(help="A program, several times for several; all if not given.")
    ] = None,
    failure: Annotated[
        list[str] | None, typer.Option(help=f"Several times for several; all if not given: {', '.join(FAILURES)}.")
    ] = None,
    question: Annotated[str, typer.Option(help="What is asked, of the homonyms.")] = "When did Titanic come out?",
    shown: Annotated[str, typer.Option(help="The program of which all calls fail.")] = "auto",
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that a call may take.")] = 2.0,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the tables as JSON.")] = None,
) -> None:
    """Let a language model's server fail and see what is kept."""
    failures = failure or list(FAILURES)
    names = program or list(REGISTRY)
    steps = {
        name: measure(name, question, failures, timeout)
        for name in track(names, "failing", console=Console(stderr=True))
    }
    words = [f"--program {name}" for name in program or ()] + [f'--failure "{name}"' for name in failure or ()]
    measured = Faults(
        command=" ".join(["python -m lab.faults lm", *words, f"--timeout {timeout:g}"]),
        date=today(),
        question=question,
        shown=shown,
        all_calls=measure_all(shown, question, failures, timeout),
        steps=steps,
    )
    typer.echo(f"{question}\n\n{measured.told()}\n\n{measured.answered()}\n\n{measured.kept()}")
    keep(measured, json_file)
