"""`polyqa ask`: a question in, a complete answer with its sources out."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import options

if TYPE_CHECKING:
    from polyqa.asking import Result

    from .session import Answering


@options.takes_language_models("prompt_lm")
def ask_command(
    question: Annotated[
        str | None,
        typer.Argument(help="A question, ambiguous or not. Without one a prompt opens; from a pipe comes one a line."),
    ] = None,
    program: options.Program = None,
    index: options.Index = None,
    where: options.Where = None,
    models: options.LanguageModels = options.EMBEDDED,
    passages: options.Passages = None,
    sets: options.Settings = None,
    min_confidence: Annotated[
        float | None,
        typer.Option(metavar="X", min=0, max=1, show_default="0.3", help="No answer unless a reading is so sure."),
    ] = None,
    ask_back: Annotated[
        bool, typer.Option("--ask-back", help="Ask which reading is meant, and answer that one.")
    ] = False,
    as_json: options.Json = False,
    show_prompts: Annotated[
        bool,
        typer.Option(
            "--show-prompts", help="Also print the demos picked for the question, and every prompt and reply."
        ),
    ] = False,
    plot: Annotated[
        Path | None,
        options.more(
            metavar="FILE",
            help="Draw a map of all demos, with those picked for the question, to a .png, .svg or .pdf file.",
        ),
    ] = None,
    mlflow: options.Mlflow = None,
) -> None:
    """Answer a question: every reading, its evidence, one long answer with sources.

    Without a question a prompt stays open: everything is loaded once, and `:help` lists what it understands.
    """
    from polyqa.tracing import traced

    from .session import Choice, answer_lines, chosen, converse

    choice = Choice(program, index, where, passages, sets, models, min_confidence, ask_back)
    with traced(mlflow):
        if question is None and sys.stdin.isatty() and not as_json:
            converse(choice)
            return
        if question is None:
            answering = choice.loaded()
            answer_lines(answering, sys.stdin, partial(_show, answering, as_json, show_prompts, json_lines=True))
            return
        from polyqa.asking import check_question

        question = check_question(question)
        answering = choice.loaded()
        if plot is not None:
            from polyqa.reports.compilation_plots import plot_neighbourhood

            plot_neighbourhood(answering.program, question, plot)  # first, as there may be no map to draw
        result = answering.ask(question)
        if result.asked_back and not as_json and sys.stdin.isatty():
            result = chosen(result)
        _show(answering, as_json, show_prompts, result)


def _show(
    answering: "Answering", as_json: bool, show_prompts: bool, result: "Result", *, json_lines: bool = False
) -> None:
    """Print a result, as one line of JSON where there are several."""
    picked = answering.picked(result.question) if show_prompts else None
    if not as_json:
        from .answers import show_result, show_why

        if picked is not None:
            from rich.rule import Rule

            from .display import console

            show_why(result, picked)
            console().print(Rule("answer"))
        show_result(result)
        return
    from .display import show_json

    prompts = {"demos": picked, "prompts": [{"messages": call.messages, "reply": call.reply} for call in result.calls]}
    show_json({**result.to_dict(), **(prompts if show_prompts else {})}, lines=json_lines)
