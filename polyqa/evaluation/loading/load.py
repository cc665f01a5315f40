"""Loads questions by the name of their source."""

import random
import re
from pathlib import Path

from polyqa.evaluation.homonyms import SPLITS, questions_path
from polyqa.metrics.gold import Question

from .convert import convert
from .files import SUFFIXES, read_file
from .formats import named_format
from .hub import read_hub
from .record import Record, problem

_SHIPPED = "homonyms"
_SHIPPED_SPLIT = "dev"
_HUB = "hub:"
_HUB_NAME = re.compile(r"(?P<name>[\w.-]{1,96}(?:/[\w.-]{1,96})?)(?:@(?P<config>\S+))?", re.ASCII)


def load_questions(
    source: str | Path,
    *,
    format: str | None = None,
    split: str | None = None,
    limit: int | None = None,
    seed: int = 0,
) -> list[Question]:
    """Load the questions of a file, of the shipped sets, or of a data set on the Hugging Face hub.

    Parameters
    ----------
    source
        A path that ends in ``.json``, ``.jsonl`` or ``.ndjson``; ``homonyms`` or ``homonyms/SPLIT`` for the
        shipped questions; or a name on the hub, ``NAME`` or ``NAME@CONFIGURATION``, with ``hub:`` in front
        to say so.
    format
        A name in ``FORMATS``; told from the keys of the first record if not given.
    split
        Which split to take. May be left out where the source has one at most; of ``homonyms``, dev is taken.
    limit
        Draw a random sample of so many questions, in the order of the source; all of them if there are fewer.
    seed
        Of the sample: the same seed draws the same questions.

    Returns
    -------
    list of Question
        At least one, with distinct ids; records of SituatedQA that share an id are one question.

    Raises
    ------
    PolyqaError
        If the source is missing, empty or broken, the format or the split unknown, a record of another
        schema, an id repeated, or the limit below 1. The message is one line that names the file, the
        record and what is wrong, and shows the record's beginning.
    """
    if format is not None:
        named_format(format)  # a misspelt name should not cost a download
    if limit is not None and limit < 1:
        raise problem("limit", f"a sample holds at least 1 question, got {limit}")
    questions = convert(_records(source, split), format, str(source))
    if limit is None or limit >= len(questions):
        return questions
    return [questions[at] for at in sorted(random.Random(seed).sample(range(len(questions)), limit))]


def _records(source: str | Path, split: str | None) -> list[Record]:
    if isinstance(source, Path):
        return read_file(_expanded(source), split)
    if source.startswith(_HUB):
        return _from_hub(source, source.removeprefix(_HUB), split)
    path = _expanded(Path(source))
    if path.suffix.lower() in SUFFIXES:
        return read_file(path, split)
    name, _, named = source.partition("/")
    if name == _SHIPPED:
        return _shipped(source, named or None, split)
    if source.startswith((".", "/", "~")) or _exists(path):
        return read_file(path, split)
    return _from_hub(source, source, split)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name that is too long, say, is none of a file
        return False


def _expanded(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise problem(path, f"the file cannot be read: {error}") from error


def _shipped(source: str, named: str | None, split: str | None) -> list[Record]:
    if named and split and named != split:
        raise problem(source, f"this names the split {named!r}, but {split!r} is asked for")
    chosen = named or split or _SHIPPED_SPLIT
    if chosen not in SPLITS:
        raise problem(source, f"there is no split {chosen!r}; there are {', '.join(SPLITS)}")
    return read_file(questions_path(chosen))


def _from_hub(source: str, name: str, split: str | None) -> list[Record]:
    match = _HUB_NAME.fullmatch(name)
    if match is None:
        raise problem(
            source or "source",
            f"no questions are called so: give a file ({', '.join(SUFFIXES)}), {_SHIPPED}, {_SHIPPED}/SPLIT, "
            "or a data set on the Hugging Face hub as hub:NAME or hub:NAME@CONFIGURATION",
        )
    return read_hub(match["name"], match["config"], split)
