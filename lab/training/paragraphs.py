"""Paragraphs with questions, one record a line, gzipped or not: how larger question sets are kept.

A record is ``{"title", "context", "qas": [{"question", "answers": [{"text", "answer_start"}], "is_impossible"}]}``,
or one question with its own ``title`` and ``context``. Two more fields of a question are understood:
``answer_conf``, how sure a machine is of the answer that it marked, in [0, 1], and ``question_bt``, the question as it
came back from a translation like its paragraph's.
"""

import gzip
import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from polyqa.base.errors import PolyqaError

from .squad import Example, example_of


def read_paragraphs(
    path: Path, *, least_confidence: float = 0.0, translated: float = 0.0, seed: int = 0
) -> list[Example]:
    """Return the questions of a file in their order.

    Parameters
    ----------
    least_confidence
        Answers marked by a machine that was less sure, in [0, 1], are left out.
    translated
        Share of the questions with a translated wording that get it: where only paragraphs and answerable
        questions are translated, the style alone would tell which have no answer.
    seed
        For what is drawn.

    Raises
    ------
    PolyqaError
        If the file cannot be read, or a record is not of this form.
    """
    chance = random.Random(seed)
    examples = []
    for where, record in _records(path):
        try:
            for number, question in enumerate(record.get("qas", [record])):
                if question.get("answer_conf", 1.0) < least_confidence:
                    continue
                made = _example(question, record, f"{path.name}#{where}-{number}")
                reworded = question.get("question_bt", "").strip()
                examples.append(replace(made, question=reworded) if reworded and chance.random() < translated else made)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise PolyqaError(
                f"{path}, line {where}: no paragraph with questions ({type(error).__name__}: {error}). It needs "
                '{"title", "context", "qas": [{"question", "answers": [{"text", "answer_start"}]}]}, with each answer '
                "where it is said to stand."
            ) from error
    return examples


def _records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield number, json.loads(line)
    except (OSError, EOFError, ValueError) as error:
        raise PolyqaError(f"{path} cannot be read as JSON lines: {error}.") from error


def _example(question: dict[str, Any], paragraph: dict[str, Any], name: str) -> Example:
    title = paragraph.get("title") or ""
    made = example_of({"id": name, **question}, paragraph["context"], title, title)
    for start, text in made.answers:
        if made.context[start : start + len(text)] != text:
            raise ValueError(f"{text!r} does not stand at character {start}")
    return made
