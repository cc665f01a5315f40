"""`polyqa push` and `polyqa pull`: artifacts and question sets on the Hugging Face hub."""

from pathlib import Path
from typing import Annotated

import typer

from .terminal import say

_Repo = Annotated[str, typer.Argument(metavar="OWNER/NAME", help="The repository on the hub.")]


def push_command(
    what: Annotated[str, typer.Argument(help="A compiled program's name or folder, or a file of questions.")],
    repo: _Repo,
    private: Annotated[bool, typer.Option("--private", help="Make a new repository private.")] = False,
    license: Annotated[
        str | None, typer.Option(metavar="NAME", help="The licence, as the hub names it: apache-2.0.")
    ] = None,
) -> None:
    """Bring a compiled program or a set of questions to the Hugging Face hub, with its card."""
    from polyqa.hub import push

    done = push(what, repo, private=private, license=license)
    say(f"pushed {done.kind}: {done.url}, commit {done.commit}")


def pull_command(
    repo: _Repo,
    to: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="The folder to make; by default the repository's name.")
    ] = None,
    questions: Annotated[bool, typer.Option("--questions", help="It is a set of questions.")] = False,
    revision: Annotated[
        str, typer.Option(metavar="NAME", help="A branch, a tag, or a commit hash, which pins it.")
    ] = "main",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what was pulled before.")] = False,
) -> None:
    """Get a compiled program or a set of questions from the hub: data only, checked, none of it run."""
    from polyqa.hub import pull

    done = pull(repo, to, questions=questions, revision=revision, overwrite=overwrite)
    say(f"pulled {done.kind}: {done.path}, commit {done.commit}")
