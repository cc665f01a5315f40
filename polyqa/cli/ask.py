"""`polyqa ask`: a question in, a complete answer with its sources out."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyqa.base.errors import PolyqaError

from . import options
from .answers import show_result
from .display import console, show_json, show_prompts, typed
from .terminal import say

if TYPE_CHECKING:
    import dspy

    from polyqa.asking import Result


@dataclass(frozen=True)
class Answering:
    """The program that is loaded, by its name, the language model that runs it, and how it is asked."""

    name: str
    program: "dspy.Module"
    model: "dspy.LM"
    how: Mapping[str, Any]

    def ask(self, question: str) -> "Result":
        """Answer a question."""
        from polyqa.asking import ask

        return replace(ask(question, program=self.program, lm=self.model, **self.how), program=self.name)

    def __str__(self) -> str:
        from polyqa.loading import index_of

        index = index_of(self.program)
        return " · ".join([self.name, *([index.name] if index else []), str(self.model.model)])


@options.takes_language_models("prompt_lm")
def ask_command(
    question: Annotated[
        str | None,
        typer.Argument(help="A question, ambiguous or not. Without one an interactive prompt opens."),
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
    with_prompts: Annotated[
        bool,
        typer.Option(
            "--show-prompts", help="Also print every prompt, with the demos (worked examples) in it, and every reply."
        ),
    ] = False,
    mlflow: options.Mlflow = None,
) -> None:
    """Answer a question: every reading, its evidence, one long answer with sources.

    Without a question a prompt opens, which loads everything once; `:help` lists what it understands.
    """
    from polyqa.tracing import traced

    def loaded() -> Answering:
        from polyqa.loading import default_program, load

        chosen = models.models()
        model, helper = chosen.answering(), chosen.helping()
        name = program or default_program(model)
        settings = options.program_settings(name, passages, sets)
        opened = load(name, index=index, where=where, helper_lm=helper, **settings)
        options.tell_engine(name, str(model.model))
        return Answering(name, opened, model, {"ask_back": ask_back, "min_confidence": min_confidence})

    with traced(mlflow):
        if question is None:
            from .session import converse

            if not sys.stdin.isatty():
                raise PolyqaError("Give a question; `polyqa answer FILE --out answers.jsonl` answers those of a file.")
            if as_json or with_prompts:
                raise PolyqaError("--json and --show-prompts go with a question; at the prompt, :why shows prompts.")
            converse(loaded())
            return
        from polyqa.asking import check_question

        question = check_question(question)
        answering = loaded()
        result = answering.ask(question)
        chosen_result = chosen(result) if result.asked_back and not as_json and sys.stdin.isatty() else result
        _show(as_json, with_prompts, chosen_result)


def _show(as_json: bool, with_prompts: bool, result: "Result") -> None:
    if as_json:
        prompts = {"prompts": [{"messages": call.messages, "reply": call.reply} for call in result.calls]}
        show_json({**result.to_dict(), **(prompts if with_prompts else {})})
        return
    if with_prompts:
        from rich.rule import Rule

        show_prompts(result.calls)
        console().print(Rule("answer"))
    show_result(result)


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
