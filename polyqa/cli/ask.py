"""`polyqa ask`: a question in, a complete answer with its sources out."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options
from .terminal import say

if TYPE_CHECKING:
    from dspy import Module

    from polyqa.asking import Result


@options.takes_language_models("prompt_lm")
def ask_command(
    question: Annotated[str, typer.Argument(help="A question, ambiguous or not.")],
    program: options.Program = None,
    index: options.Index = None,
    where: options.Where = None,
    models: options.LanguageModels = options.EMBEDDED,
    demos: options.Demos = None,
    reranker: options.Reranker = None,
    passages: options.Passages = None,
    sets: options.Settings = None,
    preset: options.Preset = None,
    min_confidence: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="No answer unless a reading is so sure; by default 0.3 with the embedded engine."
        ),
    ] = None,
    ask_back: Annotated[
        bool, typer.Option("--ask-back", help="Ask which reading is meant, and answer that one.")
    ] = False,
    mlflow: options.Mlflow = None,
    as_json: options.Json = False,
    show_prompts: Annotated[
        bool,
        typer.Option(
            "--show-prompts", help="Also print the demos picked for the question, and every prompt and reply."
        ),
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw what each step kept and dropped, and why, to a .png, .svg or .pdf file."),
    ] = None,
) -> None:
    """Answer a question: every reading, its evidence, one long answer with sources."""
    from polyqa.asking import ask, check_question
    from polyqa.loading import default_program, load
    from polyqa.tracing import traced

    from .display import show_json

    question = check_question(question)
    chosen = models.models()
    model, helper = chosen.answering(), chosen.helping()
    program = program or default_program(model)
    settings = options.program_settings(program, passages, sets, preset)
    ready = load(program, index=index, where=where, demos=demos, reranker=reranker, helper_lm=helper, **settings)
    if plot is not None:
        from polyqa.reports.plots import check_format

        check_format(plot)  # before anything is asked
    picked = None
    if show_prompts:
        from polyqa.optimizers.prompts import picked_demos

        picked = picked_demos(ready, question)
    steps: list[Mapping[str, Any]] = []
    with traced(mlflow), _watched(ready, steps if plot else None):
        result = ask(
            question,
            program=ready,
            lm=model,
            ask_back=ask_back,
            min_confidence=min_confidence,
        )
    if plot is not None:
        from polyqa.reports.why import plot_why

        plot_why(result, steps, plot)
    if result.asked_back and not as_json and sys.stdin.isatty():
        result = _chosen(result)
    if not as_json:
        _show(result, picked)
        return
    prompts = {"demos": picked, "prompts": [{"messages": call.messages, "reply": call.reply} for call in result.calls]}
    show_json({**result.to_dict(), **(prompts if show_prompts else {})})


def _watched(program: "Module", steps: list[Mapping[str, Any]] | None) -> AbstractContextManager[object]:
    """Return what appends the steps of a program to a list while it runs."""
    if steps is None:
        return nullcontext()
    from polyqa.lm.recorder import listening
    from polyqa.watching import Watch

    return listening(Watch(lambda _, step: steps.append(step)), program)


def _chosen(result: "Result") -> "Result":
    """Ask which reading is meant until one is; an empty line leaves the question back as it is."""
    from polyqa.base.errors import PolyqaError

    say(result.answer)
    while reply := typer.prompt("", default="", show_default=False, prompt_suffix="> ").strip():
        try:
            return result.choose(reply)
        except PolyqaError as error:
            say(str(error), err=True)
    return result


def _show_prompts(result: "Result", picked: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Print the demos picked for each predictor, then every call."""
    from rich.markup import escape
    from rich.rule import Rule

    from .display import console, show_prompts, table

    for name, demos in picked.items():
        rows = [
            ("–" if demo["similarity"] is None else f"{demo['similarity']:.3f}", escape(str(demo["question"])))
            for demo in demos
        ]
        listed = table("similarity", "question", right=("similarity",), rows=rows, title=f"demos of {name}")
        console().print(listed if demos else f"{name}: no demos")
    show_prompts(result.calls)
    console().print(Rule("answer"))


def _show(result: "Result", picked: Mapping[str, Sequence[Mapping[str, Any]]] | None) -> None:
    from rich.markup import escape
    from rich.padding import Padding

    from polyqa.reports.result import cautions, sources_of, took

    from .display import console as own_console
    from .display import table

    console = own_console()
    if picked is not None:
        _show_prompts(result, picked)
    console.print()
    console.print(Padding(escape(result.cited_answer), (0, 2)))
    if result.asked_back:
        return
    if result.interpretations:
        readings = table("", "question", "answer", "source", right=("",), title="Readings")
        for number, (reading, source) in enumerate(zip(result.interpretations, sources_of(result), strict=True), 1):
            answer = f"[bold]{escape(reading.answer)}[/]"
            readings.add_row(str(number), escape(reading.question), answer, escape(source))
        console.print(Padding(readings, (1, 2, 0, 2)))
    if tree := result.extra.get("tree"):
        console.print(Padding(tree, (1, 2, 0, 2)))
    if result.passages:
        passages = table("", "", "", title="Passages")
        passages.show_header = False
        for number, passage in enumerate(result.passages, 1):
            title = escape(passage.place or passage.title or passage.text[:60])
            passages.add_row(escape(f"[{number}]"), title, f"[dim]{escape(passage.pid)}[/]")
        console.print(Padding(passages, (1, 2, 0, 2)))
    for caution in cautions(result):
        console.print(f"\n[yellow]{escape(caution)}[/]")
    console.print(f"\n[dim]{escape(in_lines(took(result), console.width))}[/]")


def in_lines(parts: Sequence[str], width: int) -> str:
    """Return short texts with dots between, in lines that break between two of them.

    >>> print(in_lines(["DIVA", "polyqa/extractive", "5 calls", "1.1 s"], 34))
    DIVA · polyqa/extractive · 5 calls
    1.1 s
    """
    lines = [""]
    for part in parts:
        longer = f"{lines[-1]} · {part}" if lines[-1] else part
        if len(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(part)
    return "\n".join(line for line in lines if line)
