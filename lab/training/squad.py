"""Questions over paragraphs in the format of SQuAD 2.0: read, write."""

import json
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyqa.base.errors import PolyqaError
from polyqa.base.files import write_atomically


@dataclass(frozen=True, slots=True)
class Example:
    """One question asked of one paragraph.

    Attributes
    ----------
    answers
        ``(first character, text)`` of every gold answer; empty if the paragraph has none.
    article
        Which article the paragraph is of, unique over the files that were read together.
    title
        The article's title, or ``""``.
    """

    id: str
    question: str
    context: str
    answers: tuple[tuple[int, str], ...]
    article: str
    title: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        """The gold answers' texts."""
        return tuple(text for _, text in self.answers)


def read_squad(path: Path) -> list[Example]:
    """Return the questions of a file in their order.

    Raises
    ------
    PolyqaError
        If the file is absent, is no SQuAD file, or an answer does not stand where it is said to.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))["data"]
        examples = [
            example_of(question, paragraph["context"], f"{path.name}#{number}", article.get("title") or "")
            for number, article in enumerate(data)
            for paragraph in article["paragraphs"]
            for question in paragraph["qas"]
        ]
    except FileNotFoundError as error:
        raise PolyqaError(f"There is no file {path}. Give a SQuAD 2.0 file (train-v2.0.json, for example).") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise PolyqaError(
            f"{path} is not in SQuAD 2.0's format ({type(error).__name__}: {error}). It needs "
            '{"data": [{"title", "paragraphs": [{"context", "qas": [{"id", "question", "answers"}]}]}]}.'
        ) from error
    for example in examples:
        for start, text in example.answers:
            if example.context[start : start + len(text)] != text:
                raise PolyqaError(
                    f"{path}, question {example.id!r}: the answer {text!r} does not stand at character {start} of its "
                    "paragraph. Mend answer_start (it counts characters, not bytes)."
                )
    return examples


def example_of(question: Mapping[str, Any], context: str, article: str, title: str) -> Example:
    """Return a question of a file; `KeyError` and the like say that it is none."""
    answers = [] if question.get("is_impossible") else question["answers"]
    found = dict.fromkeys((int(answer["answer_start"]), str(answer["text"])) for answer in answers)
    return Example(str(question["id"]), question["question"].strip(), context, tuple(found), article, title)


def write_squad(examples: Iterable[Example], path: Path) -> None:
    """Write questions as a SQuAD 2.0 file: articles and paragraphs are put together again."""
    articles: dict[str, tuple[str, dict[str, list[Example]]]] = {}
    for example in examples:
        _, paragraphs = articles.setdefault(example.article, (example.title, {}))
        paragraphs.setdefault(example.context, []).append(example)
    data = [
        {
            "title": title,
            "paragraphs": [
                {"context": context, "qas": [_qa(example) for example in own]} for context, own in paragraphs.items()
            ],
        }
        for title, paragraphs in articles.values()
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps({"version": "v2.0", "data": data}, ensure_ascii=False) + "\n")


def _qa(example: Example) -> dict[str, Any]:
    return {
        "id": example.id,
        "question": example.question,
        "answers": [{"text": text, "answer_start": start} for start, text in example.answers],
        "is_impossible": not example.answers,
    }


def split_by_article(examples: Sequence[Example], share: float, seed: int) -> tuple[list[Example], list[Example]]:
    """Return (training, held-out) examples, without an article in both; one title is one article in all files.

    Only articles that have questions without an answer are drawn, large ones more often, until
    ``share`` of the questions is held out; an article that would more than double it is passed over.
    """
    subjects = [subject(example) for example in examples]
    sizes = Counter(subjects)
    chance = random.Random(seed)
    candidates = sorted({own for own, example in zip(subjects, examples, strict=True) if not example.answers})
    candidates.sort(key=lambda name: -(chance.random() ** (1 / sizes[name])))
    wanted, count = share * len(examples), 0
    held: set[str] = set()
    for name in candidates:
        if count < wanted and count + sizes[name] <= 2 * wanted:
            held.add(name)
            count += sizes[name]
    parted = list(zip(subjects, examples, strict=True))
    return [e for own, e in parted if own not in held], [e for own, e in parted if own in held]


def subject(example: Example) -> str:
    """Return what says whether two examples are of one article: its title in whatever file, else the article."""
    return example.title.replace("_", " ").strip().casefold() or example.article
