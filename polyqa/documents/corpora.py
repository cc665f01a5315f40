"""Ready corpora among documents: files whose passages and ids are taken as they are."""

import csv
import json
import re
from pathlib import Path
from typing import Any

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.colbert_index.corpus import iter_corpus

from .converting import UnreadableError

CORPUS_FORMATS = (".jsonl", ".tsv", ".parquet")
_TEXT_COLUMNS = {"text", "passage", "contents", "content", "body"}
_BEGINNING = 4_096  # characters of a file that tell whether it is a corpus


def is_ready(path: Path) -> bool:
    """Return whether a file holds passages already: a corpus's format, or a table or a list with a text column."""
    suffix = path.suffix.lower()
    if suffix == ".csv":
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
            header = next(csv.reader([lines.readline(_BEGINNING)]), [])
        return bool(_TEXT_COLUMNS & {cell.strip().lower() for cell in header})
    if suffix == ".json":
        with path.open(encoding="utf-8-sig", errors="replace") as lines:
            beginning = lines.read(_BEGINNING).lstrip()
        return bool(re.match(r"\[\s*\{", beginning) and re.search(rf'"(?:{"|".join(_TEXT_COLUMNS)})"\s*:', beginning))
    return suffix in CORPUS_FORMATS


def ready_passages(path: Path, source: str) -> list[Passage]:
    """Return the passages of a corpus among the files, with their source.

    Raises
    ------
    UnreadableError
        If there are none.
    """
    records: Any = path
    try:
        if path.suffix.lower() == ".csv":
            with path.open(encoding="utf-8-sig", newline="") as lines:
                records = [{key.strip().lower(): value for key, value in row.items() if key}
                           for row in csv.DictReader(lines)]  # fmt: skip
        elif path.suffix.lower() == ".json":
            records = json.loads(path.read_text(encoding="utf-8-sig"))
        return [
            passage.model_copy(update={"metadata": {**passage.metadata, "source": source}})
            for _, passage in iter_corpus(records)
        ]
    except (PolyqaError, OSError, ValueError, RecursionError, csv.Error) as error:
        raise UnreadableError(f"cannot be read as a corpus ({error})") from error
