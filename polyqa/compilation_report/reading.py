"""Reads the report of an artifact, which may come from a stranger."""

from polyqa.artifacts.store import REPORT, Artifact
from polyqa.base.errors import PolyqaError
from polyqa.hub.contents import ORIGIN

from .page import BEGINNING

_MOST_BYTES = 64 << 20


def read_report(artifact: Artifact) -> str:
    """Return the report of an artifact.

    A page that does not begin as every report does is not taken: that beginning keeps a browser from running a script
    in it, and from asking the network for anything, whatever else a stranger may have written into it.

    Raises
    ------
    PolyqaError
        If there is none, or it was not made by a compilation.
    """
    path = artifact.path / REPORT
    recipe, program = artifact.card.recipe.get("name"), artifact.card.program
    again = f"polyqa compile --program {program:.60} --recipe {recipe!s:.60} makes the program anew with one"
    if not path.exists():
        if (artifact.path / ORIGIN).exists():
            raise PolyqaError(
                f"{artifact.path} was pulled, and reports are neither pushed nor pulled: they are pages for a browser, "
                f"of a stranger's. polyqa show {artifact.path} shows its card and prompts; {again}."
            )
        raise PolyqaError(f"{artifact.path} has no {REPORT}: it was made before there were reports; {again}.")
    if path.is_symlink() or not path.is_file() or path.stat().st_size > _MOST_BYTES:
        raise PolyqaError(f"{path} is no regular file of a usual size, and is not opened; {again}.")
    text = path.read_text(encoding="utf-8", errors="replace")
    if not text.startswith(BEGINNING):
        raise PolyqaError(f"{path} was not written by polyqa, and is not opened: it may run anything; {again}.")
    return text
