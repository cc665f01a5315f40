"""Compiled programs on disk: ``compiled/<name>/`` with ``program.json``, ``card.json``, ``README.md``, ``report.html``
and ``scores.json``.

Everything is JSON and checked; nothing in an artifact can run code, name a class by its path, or set a
language model, an address or a key.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dspy
from pydantic import ValidationError

from polyqa.base.errors import PolyqaError
from polyqa.base.files import require_no_links, write_atomically
from polyqa.programs.registry import PROGRAMS

from .card import Card
from .state import dump_program, signature_fingerprints

STATE, CARD, README, REPORT = "program.json", "card.json", "README.md", "report.html"
SCORES = "scores.json"
_MOST_BYTES = 64 << 20


@dataclass(frozen=True)
class Artifact:
    """An artifact as it was read: its folder, its card, and the unchecked state of its program."""

    path: Path
    card: Card
    state: Any = field(repr=False)


def compiled_home() -> Path:
    """Return the folder of the shipped artifacts."""
    return Path(__file__).resolve().parents[1] / "compiled"


def find_artifact(name: str | Path) -> Path | None:
    """Return the folder of an artifact: a path to one, or a name in `compiled_home`; ``None`` if there is none."""
    path = Path(name)
    if (path / CARD).is_file():
        return path
    shipped_folder = compiled_home() / path
    if len(path.parts) == 1 and path.name not in (".", "..") and (shipped_folder / CARD).is_file():
        return shipped_folder
    return None


def artifact_names() -> list[str]:
    """Return the names of the shipped artifacts."""
    return sorted(card.parent.name for card in compiled_home().glob(f"*/{CARD}"))


def read_artifact(name: str | Path) -> Artifact:
    """Read an artifact without making its program.

    Raises
    ------
    PolyqaError
        If there is none, a file is no regular file of the folder, too large or not JSON, or the card is
        not one.
    """
    path = find_artifact(name)
    if path is None:
        known_names = ", ".join(artifact_names()) or "none"
        raise PolyqaError(
            f"There is no compiled program {str(name)!r:.200}: name a folder with a {CARD}, or one of: {known_names}."
        )
    data = read_json(path / CARD)
    try:
        card = Card.model_validate(data)
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(map(str, problem["loc"]))[:120]
        raise PolyqaError(
            f"{path / CARD} is not a card of this version: {place or 'its top'}: {problem['msg']}."
        ) from error
    return Artifact(path, card, read_json(path / STATE))


def read_json(path: Path) -> Any:
    """Read a JSON file of data from anywhere: of limited size, a regular file, no NaN.

    Raises
    ------
    PolyqaError
        If it is not such a file.
    """
    if not path.is_file() or path.is_symlink():
        raise PolyqaError(f"{path} is missing, or is no regular file.")
    if path.stat().st_size > _MOST_BYTES:
        raise PolyqaError(f"{path} is larger than {_MOST_BYTES >> 20} MB, which no saved program is.")
    try:
        return json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError and JSONDecodeError among them
        raise PolyqaError(f"{path} is not JSON ({str(error)[:200]}).") from error


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def save_artifact(
    program: dspy.Module,
    card: Card,
    folder: str | Path,
    readme: str,
    report: str | None = None,
    scores: str | None = None,
) -> Path:
    """Write an artifact; an older one in the folder is replaced file by file, the card last.

    Parameters
    ----------
    program
        Of the card's class.
    card
        Its ``signatures`` must be the program's.
    folder
        Made if it is not there.
    readme
        The card for people, Markdown.
    report
        What compiling changed, an HTML page.
    scores
        What the card's figures were made of, see `polyqa.artifacts.scores.QuestionScores.to_text`. Without a report or
        scores, those of an older artifact are removed: they would tell of another program.

    Raises
    ------
    ValueError
        If the card does not fit the program.
    PolyqaError
        If the folder or something in it is a link, or cannot be written.
    """
    if card.signatures != signature_fingerprints(program) or not isinstance(program, PROGRAMS[card.program]):
        raise ValueError(f"the card is of another program than {type(program).__name__}")
    folder = Path(folder)
    require_no_links(folder)
    folder.mkdir(parents=True, exist_ok=True)
    state = json.dumps(dump_program(program), ensure_ascii=False, indent=1)
    for name, text in {
        STATE: state + "\n",
        README: readme.rstrip() + "\n",
        REPORT: report,
        SCORES: scores,
        CARD: json.dumps(card.model_dump(mode="json"), ensure_ascii=False, indent=1) + "\n",
    }.items():
        if text is None:
            (folder / name).unlink(missing_ok=True)
        else:
            write_atomically(folder / name, text)
    return folder
