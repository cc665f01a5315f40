"""`polyqa show`, `polyqa diff`, `polyqa why`: look inside programs."""

from typing import Annotated

import typer

from . import options

_Artifact = Annotated[str, typer.Argument(help="Name or folder of a compiled program, or a plain program's name.")]


def show_command(
    artifact: _Artifact,
    index: options.Index = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print card and state as JSON.")] = False,
) -> None:
    """Show a program's prompts: instructions, fields, demos; and the card of a compiled one."""
    from polyqa.artifacts.state import dump_program
    from polyqa.artifacts.store import read_artifact
    from polyqa.optimizers.prompts import prompt_texts
    from polyqa.programs import PROGRAMS

    from ..loading import load
    from .display import show_json

    card = None if artifact in PROGRAMS else read_artifact(artifact).card
    program = load(artifact, index=index, strict=False)
    if as_json:
        show_json({"card": card.describe() if card else None, "program": dump_program(program)})
        return
    if card is not None:
        show_json(card.describe())
        typer.echo()
    for name, text in prompt_texts(program).items():
        typer.echo(f"## {name}\n\n{text}")


def diff_command(
    before: _Artifact,
    after: Annotated[str, typer.Argument(help="The program to hold against it.")],
    index: options.Index = None,
) -> None:
    """Show how the prompts of two programs differ, per predictor, as Markdown."""
    from polyqa.optimizers.prompts import prompt_diff

    from ..loading import load

    left, right = (load(name, index=index, strict=False) for name in (before, after))
    typer.echo(prompt_diff(left, right))


@options.takes_language_models("prompt_lm")
def why_command(
    question: Annotated[str, typer.Argument(help="A question.")],
    artifact: Annotated[str, typer.Option(help="Name or folder of a compiled program, or a plain program's name.")],
    index: options.Index = None,
    models: options.LanguageModels = options.EMBEDDED,
    as_json: options.Json = False,
) -> None:
    """Ask a question and show why it is answered so: the demos that were picked, the messages sent."""
    from rich.markup import escape

    from polyqa.optimizers.prompts import picked_demos

    from ..asking import ask, check_question
    from ..loading import load
    from .display import console, show_json, show_prompts, table

    question = check_question(question)
    asked = models.models()
    model = asked.answering()
    program = load(artifact, index=index, helper_lm=asked.helping())
    result = ask(question, program=program, lm=model)
    picked = picked_demos(program, question)
    if as_json:
        calls = [{"messages": call.messages, "reply": call.reply} for call in result.calls]
        show_json({"question": question, "answer": result.answer, "demos": picked, "calls": calls})
        return
    for name, demos in picked.items():
        rows = [
            ("–" if demo["similarity"] is None else f"{demo['similarity']:.3f}", escape(str(demo["question"])))
            for demo in demos
        ]
        shown = table("similarity", "question", right=("similarity",), rows=rows, title=f"demos of {name}")
        console().print(shown if demos else f"{name}: no demos")
    show_prompts(result.calls)
