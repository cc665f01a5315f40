"""Options that several commands share, each declared once, and the settings of programs from the command line."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

# What runs.
Program = Annotated[
    str, typer.Option(help="A program (`polyqa programs` lists them), or a compiled one's name or folder.")
]
PlainProgram = Annotated[str, typer.Option(help="A program; `polyqa programs` lists them.")]
Index = Annotated[
    str | None, typer.Option(help="Name or path of the index; by default homonyms, or a compiled program's own.")
]
Demos = Annotated[Path | None, typer.Option(help="JSON file of a saved program: demos and instructions.")]
Reranker = Annotated[str | None, typer.Option(help="reader, or a cross-encoder, in place of the bi-encoder alone.")]
Passages = Annotated[
    int | None,
    typer.Option(
        "-k", min=1, max=50, help="Passages shown to the language model (5), where a program has that setting."
    ),
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="A setting of the program: NAME=VALUE, such as depth=2.")
]

# The models.
Lm = Annotated[str, typer.Option(help="Language model: polyqa/extractive (embedded), openai/…, ollama_chat/…, …")]
ApiBase = Annotated[str | None, typer.Option(help="Address of the language model's server.")]
PromptLm = Annotated[str | None, typer.Option(help="Writes instructions; by default --lm.")]
Reader = Annotated[
    str,
    typer.Option(
        help="Reader of Disambig-F1, which also verifies generated questions: embedded, a path, or a hub name "
        "(deepset/roberta-large-squad2)."
    ),
]
Judge = Annotated[str, typer.Option(help="Judge of the grounded metrics: embedded, none, or a language model.")]
JudgeApiBase = Annotated[str | None, typer.Option(help="Address of the judge's server.")]
Alce = Annotated[bool, typer.Option("--alce", help="Score as ALCE does: first line only, citations stripped.")]

# The questions, and what compiling does with them.
Asked = Annotated[str, typer.Option(help="homonyms/dev, a .json or .jsonl file, or the hub name of a data set.")]
Format = Annotated[
    str | None, typer.Option(help="asqa, ambignq, situatedqa, nq-open or multi-answer; found out if not given.")
]
Split = Annotated[str | None, typer.Option(help="Split of the data set.")]
Train = Annotated[str, typer.Option(help="Training questions: demos come from here.")]
Dev = Annotated[str, typer.Option(help="Development questions: they pick, and are reported.")]
RecipeName = Annotated[str, typer.Option("--recipe", help="How; polyqa recipes lists them.")]

# How it is done.
Seed = Annotated[int, typer.Option(help="Seed of every random choice.")]
Threads = Annotated[int | None, typer.Option(min=1, help="Questions or passages at once: 8, embedded engine 2.")]
MaxCalls = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Do not start a step that may take more calls, and stop when so many were made in all steps, those of "
        "earlier, stopped runs included; with a larger number it goes on.",
    ),
]
Yes = Annotated[bool, typer.Option("--yes", help="Start without asking.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def program_settings(program: str, passages: int | None, pairs: Sequence[str] | None) -> dict[str, Any]:
    """Return what a program's constructor is given.

    Parameters
    ----------
    program
        Its name. ``passages`` is left out for programs whose constructor has no such setting, so that one
        command line can run all programs.
    passages
        Of ``-k``.
    pairs
        ``NAME=VALUE``; a value that is JSON (``2``, ``false``, ``null``) is taken as such, else as text.

    Raises
    ------
    PolyqaError
        If a pair has no name or no value, is no setting of the program, or is not of its type.
    """
    from polyqa.programs import PROGRAMS
    from polyqa.signatures import PolyqaError

    from ..loading import check_settings
    from ..program_settings import setting_types

    given: dict[str, Any] = {}
    for pair in pairs or ():
        name, equals, value = pair.partition("=")
        if not equals or not name.strip().isidentifier():
            raise PolyqaError(f"--set {pair}: write NAME=VALUE, such as --set depth=2.")
        given[name.strip()] = _value(value.strip())
    if passages is not None and (program not in PROGRAMS or "passages" in setting_types(program)):
        given = {"passages": passages, **given}
    return check_settings(program, given)


def _value(text: str) -> Any:
    import json

    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
