"""`polyqa ask`: a question in, a complete answer with its sources out."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from io import TextIOWrapper
from typing import TYPE_CHECKING, Annotated

import typer

from polyqa.base.errors import PolyqaError

from . import options
from .answers import Picked, show_result, show_why
from .display import console, show_json, typed
from .terminal import say

if TYPE_CHECKING:
    import dspy

    from polyqa.asking import Result


@dataclass(frozen=True)
class Choice:
    """What is to answer, as the command line or a line of the session says it."""

    program: str | None
    index: str | None
    where: str | None
    passages: int | None
    sets: Sequence[str] | None
    models: options.LanguageModels
    min_confidence: float | None
    ask_back: bool

    def loaded(self) -> "Answering":
        """Return it loaded; see `polyqa.load` and `polyqa.language_model` for the errors."""
        from polyqa.loading import default_program, load

        chosen = self.models.models()
        model, helper = chosen.answering(), chosen.helping()
        name = self.program or default_program(model)
        settings = options.program_settings(name, self.passages, self.sets)
        program = load(name, index=self.index, where=self.where, helper_lm=helper, **settings)
        options.tell_engine(name, str(model.model))
        return Answering(self, name, program, model)


@dataclass(frozen=True)
class Answering:
    """What was chosen, and the program that is loaded, by its name, and the language model that runs it."""

    choice: Choice
    name: str
    program: "dspy.Module"
    model: "dspy.LM"

    def ask(self, question: str) -> "Result":
        """Answer a question."""
        from polyqa.asking import ask

        back, least = self.choice.ask_back, self.choice.min_confidence
        result = ask(question, program=self.program, lm=self.model, ask_back=back, min_confidence=least)
        return replace(result, program=self.name)

    def picked(self, question: str) -> Picked:
        """Return the demos that each call would be shown for a question."""
        from polyqa.optimizers.prompts import picked_demos

        return picked_demos(self.program, question)

    def __str__(self) -> str:
        from polyqa.loading import index_of

        index = index_of(self.program)
        return " · ".join([self.name, *([index.name] if index else []), str(self.model.model)])


@options.takes_language_models("prompt_lm")
def ask_command(
    question: Annotated[
        str | None,
        typer.Argument(
            help="A question, ambiguous or not. Without one an interactive prompt opens; from a pipe, each line is one."
        ),
    ] = None,
    program: options.Program = None,
    index: options.Index = None,
    where: options.Where = None,
    models: options.LanguageModels = options.EMBEDDED,
    passages: options.Passages = None,
    sets: options.Settings = None,
    min_confidence: options.MinConfidence = None,
    ask_back: Annotated[
        bool, typer.Option("--ask-back", help="Ask which reading is meant, and answer that one.")
    ] = False,
    as_json: options.Json = False,
    show_prompts: Annotated[
        bool,
        typer.Option(
            "--show-prompts", help="Also print every prompt and reply, and the demos (worked examples) in them."
        ),
    ] = False,
    mlflow: options.Mlflow = None,
) -> None:
    """Answer a question: every reading, its evidence, one long answer with sources.

    Without a question a prompt opens, which loads everything once; `:help` lists what it understands.
    """
    from polyqa.tracing import traced

    choice = Choice(program, index, where, passages, sets, models, min_confidence, ask_back)
    with traced(mlflow):
        if question is None:
            from .session import answer_lines, converse

            if sys.stdin.isatty() and not as_json:
                if show_prompts:
                    raise PolyqaError("--show-prompts goes with a question; at the prompt, :why shows them.")
                converse(choice)
                return
            if isinstance(sys.stdin, TextIOWrapper):
                sys.stdin.reconfigure(errors="surrogateescape")  # a line in another encoding fails alone
            answering = choice.loaded()
            show = partial(_show, answering, as_json, show_prompts, json_lines=True)
            answer_lines(answering, sys.stdin, show, named=not as_json)
            return
        from polyqa.asking import check_question

        question = check_question(question)
        answering = choice.loaded()
        result = answering.ask(question)
        wanted = chosen(result) if result.asked_back and not as_json and sys.stdin.isatty() else result
        _show(answering, as_json, show_prompts, wanted)


def _show(
    answering: Answering, as_json: bool, show_prompts: bool, result: "Result", *, json_lines: bool = False
) -> None:
    """Print a result, as one line of JSON where there are several."""
    picked = answering.picked(result.question) if show_prompts else None
    if not as_json:
        if picked is not None:
            from rich.rule import Rule

            show_why(result, picked)
            console().print(Rule("answer"))
        show_result(result)
        return
    prompts = {"demos": picked, "prompts": [{"messages": call.messages, "reply": call.reply} for call in result.calls]}
    show_json({**result.to_dict(), **(prompts if show_prompts else {})}, lines=json_lines)


def chosen(result: "Result") -> "Result":
    """Ask which reading is meant until one is; an empty line, or the input's end, leaves the question as it is.

    What the reading took is what the question did.
    """
    say(result.answer)
    took = {name: getattr(result, name) for name in ("calls", "input_tokens", "output_tokens", "seconds")}
    while reply := typed():
        try:
            return replace(result.choose(reply), **took)
        except PolyqaError as error:
            say(str(error), err=True)
    return result
