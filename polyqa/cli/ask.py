"""`polyqa ask`: a question in, a complete answer with its sources out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ..asking import Result


def ask_command(
    question: Annotated[str, typer.Argument(help="A question, ambiguous or not.")],
    program: Annotated[
        str, typer.Option(help="A program (`polyqa programs` lists them), or a compiled one's name or folder.")
    ] = "auto",
    index: Annotated[
        str | None, typer.Option(help="Name or path of the index; by default homonyms, or a compiled program's own.")
    ] = None,
    lm: Annotated[
        str, typer.Option(help="Language model: polyqa/extractive (embedded), openai/…, ollama_chat/…, …")
    ] = "polyqa/extractive",
    api_base: Annotated[str | None, typer.Option(help="Address of the language model's server.")] = None,
    demos: Annotated[Path | None, typer.Option(help="JSON file of a saved program: demos and instructions.")] = None,
    reranker: Annotated[
        str | None, typer.Option(help="reader, or a cross-encoder, in place of the bi-encoder alone.")
    ] = None,
    passages: Annotated[
        int | None,
        typer.Option(
            "-k", min=1, max=50, help="Passages shown to the language model (5), where a program has that setting."
        ),
    ] = None,
    sets: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of the program: NAME=VALUE, such as depth=2.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    show_prompts: Annotated[bool, typer.Option("--show-prompts", help="Print all messages and replies.")] = False,
) -> None:
    """Answer a question: every reading, its evidence, one long answer with sources."""
    import json

    from ..asking import ask, check_question
    from ..loading import load, warm_up
    from ..models import language_model
    from .settings import program_settings

    question = check_question(question)
    model = language_model(lm, api_base=api_base)
    settings = program_settings(program, passages, sets or [])
    ready = load(program, index=index, demos=demos, reranker=reranker, **settings)
    warm_up(ready, model)
    result = ask(question, program=ready, lm=model)
    if as_json:
        typer.echo(json.dumps(result.to_dict(), ensure_ascii=False, indent=2, default=str))
        return
    _show(result, show_prompts)


def _show(result: "Result", show_prompts: bool) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.padding import Padding
    from rich.rule import Rule
    from rich.table import Table

    console = Console(highlight=False)
    if show_prompts:
        for number, call in enumerate(result.calls, 1):
            console.print(Rule(f"call {number} of {len(result.calls)}"))
            for message in call.messages:
                console.print(f"[bold]{message['role']}[/]\n{escape(str(message['content']))}\n")
            console.print(f"[bold]reply[/]\n{escape(call.reply)}\n")
        console.print(Rule())
    numbers = {passage.pid: number for number, passage in enumerate(result.passages, 1)}
    console.print()
    console.print(Padding(escape(result.answer), (0, 2)))
    if result.interpretations:
        table = Table(box=None, padding=(0, 2, 0, 0), title="Readings", title_justify="left")
        table.add_column("", justify="right")
        table.add_column("question")
        table.add_column("answer", style="bold")
        table.add_column("source")
        for number, reading in enumerate(result.interpretations, 1):
            source = f"[{numbers[reading.pid]}]" if reading.pid in numbers else "none"
            table.add_row(str(number), escape(reading.question), escape(reading.answer), escape(source))
        console.print(Padding(table, (1, 2, 0, 2)))
    if tree := result.extra.get("tree"):
        console.print(Padding(tree, (1, 2, 0, 2)))
    if result.passages:
        table = Table(box=None, padding=(0, 2, 0, 0), title="Passages", title_justify="left", show_header=False)
        for number, passage in enumerate(result.passages, 1):
            table.add_row(
                escape(f"[{number}]"),
                escape(passage.title or passage.text[:60]),
                f"[dim]{escape(passage.pid)}[/]",
            )
        console.print(Padding(table, (1, 2, 0, 2)))
    coverage = f"coverage {result.coverage} · " if result.coverage else ""
    console.print(
        f"\n[dim]{coverage}{result.program} · {result.lm} · {len(result.calls)} calls · {result.input_tokens:,} + "
        f"{result.output_tokens:,} tokens · {result.seconds:.1f} s[/]"
    )
