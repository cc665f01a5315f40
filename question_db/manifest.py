"""``questions.json``: what a database of questions says of itself."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from polyqa.signatures import PolyqaError

from .types import Counts, Origin

MANIFEST = "questions.json"


class Manifest(BaseModel):
    """What a database holds and how it was made.

    Attributes
    ----------
    format
        Version of the folder's layout.
    counts
        How many were left after each step; ``counts.questions`` is how many rows the table has.
    origin
        Language model, reader and the hash of the passages that were read.
    encoder, dimensions
        The sentence encoder whose vectors of the questions are stored.
    index, index_passages
        Fingerprint of the index whose passages were read, and how many it has; ``counts.passages`` of
        them were read.
    digest
        Hash of the questions with their answers and ids.
    lancedb
        Version that wrote the table.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    counts: Counts
    origin: Origin
    encoder: str
    dimensions: int
    index: str
    index_passages: int
    digest: str
    lancedb: str


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write ``questions.json``."""
    (folder / MANIFEST).write_text(manifest.model_dump_json(indent=2) + "\n", encoding="utf-8")


def read_manifest(folder: Path) -> Manifest:
    """Read ``questions.json``.

    Raises
    ------
    PolyqaError
        If there is no database in the folder, or its manifest is damaged or of another version.
    """
    path = folder / MANIFEST
    if not path.is_file():
        raise PolyqaError(
            f"There is no database of questions at {folder}. Build one with `polyqa questions build --index NAME`."
        )
    try:
        return Manifest.model_validate_json(path.read_text(encoding="utf-8"))
    except (ValidationError, UnicodeDecodeError) as error:
        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise PolyqaError(
            f"{path} is damaged or of another version ({reason}); build the database anew "
            "(`polyqa questions build … --overwrite`)."
        ) from error
