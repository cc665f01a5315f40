"""Loads questions by the name of their source."""

import random
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from polyqa.base.rows import SUFFIXES, Record, exists, format_of, located, one_split, problem, read_rows
from polyqa.evaluation.homonyms import SPLITS, questions_path
from polyqa.metrics.gold import Question

from .convert import Loaded, convert
from .formats import SHAPE, named_format
from .hub import read_hub

_T = TypeVar("_T")
_SHIPPED = "homonyms"
_SHIPPED_SPLIT = "dev"
HUB = "hub:"
_HUB_NAME = re.compile(
    r"(?P<name>[\w.-]{1,96}(?:/[\w.-]{1,96})?)(?:@(?P<config>[^\s@]*)(?:@(?P<split>\S+))?)?", re.ASCII
)


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
        A file or a folder that `polyqa.base.rows.read_rows` reads, or ``FILE@SPLIT``; ``homonyms`` or
        ``homonyms/SPLIT`` for the shipped questions; or a name on the hub, ``hub:NAME`` or
        ``hub:NAME@CONFIGURATION``, with ``@SPLIT`` behind (``hub:NAME@@SPLIT`` without a configuration).
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
    loaded = read_questions(source, format=format, split=split)
    return drawn(loaded.questions, limit, seed)


def read_questions(source: str | Path, *, format: str | None = None, split: str | None = None) -> Loaded:
    """Load questions, and tell how they were read; see `load_questions`."""
    if format is not None:
        named_format(format)  # a misspelt name should not cost a download
    return convert(records_of(source, split), format, str(source))


def drawn(questions: list[_T], limit: int | None, seed: int) -> list[_T]:
    """Return a random sample of so many questions, in their order; all of them if there are fewer or no limit."""
    if limit is not None and limit < 1:
        raise problem("limit", f"a sample holds at least 1 question, got {limit}")
    if limit is None or limit >= len(questions):
        return questions
    return [questions[at] for at in sorted(random.Random(seed).sample(range(len(questions)), limit))]


def records_of(source: str | Path, split: str | None) -> Iterable[Record]:
    """Return the records of a source of questions; see `load_questions` for what it may be, and for the errors."""
    if isinstance(source, Path):
        path, split = located(source, split)
        return read_rows(path, SHAPE, split)
    if source.startswith(HUB):
        return _from_hub(source, split)
    path, chosen = located(source, split)
    if format_of(path) in SUFFIXES:
        return read_rows(path, SHAPE, chosen)
    name, _, split_name = source.partition("/")
    if name == _SHIPPED:
        return _shipped(source, split_name or None, split)
    if source.startswith((".", "/", "~")) or exists(path):
        return read_rows(path, SHAPE, chosen)
    raise problem(
        source or "source",
        f"no questions are called so: give a file ({', '.join(SUFFIXES)}), {_SHIPPED}, {_SHIPPED}/SPLIT, "
        "or a data set on the Hugging Face hub as hub:NAME or hub:NAME@CONFIGURATION@SPLIT",
    )


def _shipped(source: str, split_name: str | None, split: str | None) -> Iterable[Record]:
    chosen = one_split(source, split_name, split) or _SHIPPED_SPLIT
    if chosen not in SPLITS:
        raise problem(source, f"there is no split {chosen!r}; there are {', '.join(SPLITS)}")
    return read_rows(questions_path(chosen), SHAPE)


def _from_hub(source: str, split: str | None) -> list[Record]:
    match = _HUB_NAME.fullmatch(source.removeprefix(HUB))
    if match is None:
        raise problem(source, "no data set of the Hugging Face hub is called so; write hub:NAME@CONFIGURATION@SPLIT")
    return read_hub(match["name"], match["config"] or None, one_split(source, match["split"], split))
