"""Open questions with their answers (ASQA, AmbigNQ), and keeping those that are measured on out of training."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import TrainingError
from .files import read_lines
from .text import words


@dataclass(frozen=True, slots=True)
class Asked:
    """A question without a passage.

    Attributes
    ----------
    root
        Id of the item it belongs to: the readings of an ambiguous question share it.
    answers
        One group of aliases per answer; a question that has one reading has one group.
    long_answer
        A long answer to the whole item, or ``""``.
    source
        Where the item says that it is from, or ``""``.
    """

    root: str
    question: str
    answers: tuple[tuple[str, ...], ...]
    long_answer: str = ""
    source: str = ""

    @property
    def aliases(self) -> tuple[str, ...]:
        """All aliases of all answers."""
        return tuple(dict.fromkeys(alias for group in self.answers for alias in group))


def read_questions(path: Path) -> list[Asked]:
    """Return the ambiguous questions of a file and each of their readings.

    Parameters
    ----------
    path
        ASQA (``.jsonl`` with a line per item, or the official ``.json``) or AmbigNQ (``.json``).

    Raises
    ------
    TrainingError
        If the file is none of these.
    """
    if path.suffix == ".jsonl":
        items: Iterable[dict[str, Any]] = read_lines(path, "id", "ambiguous_question", "qa_pairs")
        return [asked for item in items for asked in _of_asqa(str(item["id"]), item)]
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(data, list):
            return [asked for item in data for asked in _of_ambignq(item)]
        return [asked for split in data.values() for key, item in split.items() for asked in _of_asqa(str(key), item)]
    except FileNotFoundError as error:
        raise TrainingError(f"There is no file {path}. Give ASQA's or AmbigNQ's file of questions.") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TrainingError(
            f"{path} is neither ASQA's nor AmbigNQ's format ({type(error).__name__}: {error})."
        ) from error


def _of_asqa(root: str, item: dict[str, Any]) -> Iterator[Asked]:
    pairs = [(pair["question"], tuple(pair["short_answers"])) for pair in item["qa_pairs"]]
    long = item.get("long_answer") or ""
    source = item.get("source") or ""
    yield Asked(root, item["ambiguous_question"], tuple(answers for _, answers in pairs), long, source)
    for question, answers in pairs:
        yield Asked(root, question, (answers,), long, source)


def _of_ambignq(item: dict[str, Any]) -> Iterator[Asked]:
    root = str(item["id"])
    groups: list[tuple[str, ...]] = []
    for annotation in item["annotations"]:
        if annotation["type"] == "singleAnswer":
            groups.append(tuple(annotation["answer"]))
        else:
            for pair in annotation["qaPairs"]:
                groups.append(tuple(pair["answer"]))
                yield Asked(root, pair["question"], (tuple(pair["answer"]),))
    yield Asked(root, item["question"], tuple(dict.fromkeys(groups)))


def without_held_out(questions: Iterable[Asked], held_out: Iterable[Asked]) -> list[Asked]:
    """Return the questions of items that share no id and no question's words with a held-out one."""
    held = list(held_out)
    roots = {asked.root for asked in held}
    texts = {words(asked.question) for asked in held}
    kept = list(questions)
    roots |= {asked.root for asked in kept if words(asked.question) in texts}
    return [asked for asked in kept if asked.root not in roots]


def without_repeats(questions: Iterable[Asked]) -> list[Asked]:
    """Return the questions, of equal ones of an item the first: ASQA's items are AmbigNQ's again."""
    seen: dict[tuple[str, tuple[str, ...]], Asked] = {}
    for asked in questions:
        seen.setdefault((asked.root, words(asked.question)), asked)
    return list(seen.values())
