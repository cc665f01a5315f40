"""`polyqa show`, `polyqa diff`, `polyqa why`: look inside programs."""

from pathlib import Path
from typing import Annotated

import typer

from . import completion, options
from .terminal import say

_Artifact = Annotated[
    str,
    typer.Argument(
        help="Name or folder of a compiled program, or a plain program's name.", autocompletion=completion.programs
    ),
]


def show_command(
    artifact: _Artifact,
    index: options.Index = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print card and state as JSON.")] = False,
    html: Annotated[
        Path | None,
        typer.Option("--html", help="Write the report of the compilation, a page for a browser, to this file instead."),
    ] = None,
) -> None:
    """Show a program's prompts: instructions, fields, demos; and the card of a compiled one."""
    if html is not None:
        _write_report(artifact, html)
        return
    from polyqa.artifacts.state import dump_program
    from polyqa.artifacts.store import read_artifact
    from polyqa.loading import load
    from polyqa.optimizers.prompts import prompt_texts
    from polyqa.programs import PROGRAMS

    from .display import show_json

    card = None if artifact in PROGRAMS else read_artifact(artifact).card
    program = load(artifact, index=index, strict=False)
    if as_json:
        show_json({"card": card.describe() if card else None, "program": dump_program(program)})
        return
    if card is not None:
        show_json(card.describe())
        say()
    for name, text in prompt_texts(program).items():
        say(f"## {name}\n\n{text}")


def _write_report(artifact: str, to: Path) -> None:
    """Write the report of an artifact to a file."""
    from polyqa.artifacts.store import read_artifact
    from polyqa.base.errors import PolyqaError
    from polyqa.base.files import write_atomically
    from polyqa.programs import PROGRAMS
    from polyqa.reports.compilation import read_report

    if artifact in PROGRAMS:
        raise PolyqaError(f"{artifact} is not compiled, so there is no report of it: name a compiled program.")
    report = read_report(read_artifact(artifact))
    to.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(to, report)
    say(f"written to {to}", err=True)


def diff_command(
    before: _Artifact,
    after: Annotated[str, typer.Argument(help="The program to hold against it.", autocompletion=completion.programs)],
    index: options.Index = None,
) -> None:
    """Show how the prompts of two programs differ, per predictor, as Markdown."""
    from polyqa.loading import load
    from polyqa.optimizers.prompts import prompt_diff

    left, right = (load(name, index=index, strict=False) for name in (before, after))
    say(prompt_diff(left, right))


@options.takes_language_models("prompt_lm")
def why_command(
    question: Annotated[str, typer.Argument(help="A question.")],
    program: Annotated[
        str,
        typer.Option(
            "--program",
            "--artifact",
            help="A program (`polyqa programs` lists them), or a compiled one's name or folder.",
            autocompletion=completion.programs,
        ),
    ] = "auto",
    index: options.Index = None,
    models: options.LanguageModels = options.EMBEDDED,
    demos: options.Demos = None,
    reranker: options.Reranker = None,
    passages: options.Passages = None,
    sets: options.Settings = None,
    preset: options.Preset = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw a map of all demos, with those that were picked, to a .png, .svg or .pdf file."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Ask a question and show why it is answered so: the demos that were picked, the messages sent, the answer."""
    from rich.markup import escape
    from rich.rule import Rule

    from polyqa.asking import ask, check_question
    from polyqa.loading import load
    from polyqa.optimizers.prompts import picked_demos

    from .display import console, show_json, show_prompts, table

    question = check_question(question)
    asked = models.models()
    model = asked.answering()
    settings = options.program_settings(program, passages, sets, preset)
    ready = load(program, index=index, demos=demos, reranker=reranker, helper_lm=asked.helping(), **settings)
    if plot is not None:
        from polyqa.reports.compilation_plots import plot_neighbourhood

        plot_neighbourhood(ready, question, plot)  # before the question is asked: it may be that there is no map
    result = ask(question, program=ready, lm=model)
    picked = picked_demos(ready, question)
    if as_json:
        calls = [{"messages": call.messages, "reply": call.reply} for call in result.calls]
        show_json({"question": question, "answer": result.answer, "demos": picked, "calls": calls})
        return
    for name, nearest in picked.items():
        rows = [
            ("–" if demo["similarity"] is None else f"{demo['similarity']:.3f}", escape(str(demo["question"])))
            for demo in nearest
        ]
        shown = table("similarity", "question", right=("similarity",), rows=rows, title=f"demos of {name}")
        console().print(shown if nearest else f"{name}: no demos")
    show_prompts(result.calls)
    console().print(Rule("answer"))
    console().print(escape(result.cited_answer))
