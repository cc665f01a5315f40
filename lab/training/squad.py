"""Questions over paragraphs, in the format of SQuAD 2.0 and as JSON lines: read, write, split."""

import json
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from polyqa.base.errors import PolyqaError
from polyqa.base.files import write_atomically
from polyqa.base.rows import read_lines

_NO_QUESTIONS = (ValueError, KeyError, TypeError, AttributeError)
"""What `_example` and reading JSON raise where there is no question."""


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
    """Return the questions of a SQuAD 2.0 file in their order.

    Raises
    ------
    PolyqaError
        If the file cannot be read, is no SQuAD file, or an answer does not stand where it is said to.
    """
    try:
        return [
            _example(question, paragraph["context"], f"{path.name}#{number}", article.get("title") or "")
            for number, article in enumerate(json.loads(path.read_text(encoding="utf-8"))["data"])
            for paragraph in article["paragraphs"]
            for question in paragraph["qas"]
        ]
    except (OSError, *_NO_QUESTIONS) as error:
        raise PolyqaError(f"{path} is no SQuAD 2.0 file ({type(error).__name__}: {error}).") from error


def read_paragraphs(
    path: Path, *, least_confidence: float = 0.0, translated: float = 0.0, seed: int = 0
) -> list[Example]:
    """Return the questions of a file of JSON lines in their order.

    A line is ``{"title", "context", "qas": […]}`` with questions as in SQuAD, or a question with its own ``title`` and
    ``context``. Two more fields of a question are understood: ``answer_conf``, how sure a machine is of the answer that
    it marked, in [0, 1], and ``question_bt``, the question as it came back from a translation like its paragraph's.

    Parameters
    ----------
    least_confidence
        Answers marked by a machine that was less sure are left out.
    translated
        Share of the questions with a translated wording that get it: where only paragraphs and answerable
        questions are translated, the style alone would tell which have no answer.

    Raises
    ------
    PolyqaError
        If the file cannot be read, or a line is not of this form.
    """
    chance = random.Random(seed)
    examples = []
    for where, line in read_lines(path):
        try:
            record = json.loads(line)
            for number, question in enumerate(record.get("qas", [record])):
                if question.get("answer_conf", 1.0) >= least_confidence:
                    title, reworded = record.get("title") or "", question.get("question_bt", "").strip()
                    named = {"id": f"{path.name}#{where}-{number}", **question}
                    made = _example(named, record["context"], title, title)
                    take = reworded and chance.random() < translated
                    examples.append(replace(made, question=reworded) if take else made)
        except _NO_QUESTIONS as error:
            raise PolyqaError(f"{path}, line {where}: no questions ({type(error).__name__}: {error}).") from error
    return examples


def _example(question: Mapping[str, Any], context: str, article: str, title: str) -> Example:
    answers = [] if question.get("is_impossible") else question["answers"]
    found = tuple(dict.fromkeys((int(answer["answer_start"]), str(answer["text"])) for answer in answers))
    for start, text in found:
        if context[start : start + len(text)] != text:
            raise ValueError(f"{question['id']!r}: the answer {text!r} does not stand at character {start}")
    return Example(str(question["id"]), question["question"].strip(), context, found, article, title)


def write_squad(examples: Iterable[Example], path: Path) -> None:
    """Write questions as a SQuAD 2.0 file: articles and paragraphs are put together again."""
    articles: dict[str, dict[str, Any]] = {}
    for example in examples:
        article = articles.setdefault(example.article, {"title": example.title, "paragraphs": {}})
        qas = article["paragraphs"].setdefault(example.context, {"context": example.context, "qas": []})["qas"]
        answers = [{"text": text, "answer_start": start} for start, text in example.answers]
        qas.append({"id": example.id, "question": example.question, "answers": answers, "is_impossible": not answers})
    data = [{**article, "paragraphs": list(article["paragraphs"].values())} for article in articles.values()]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps({"version": "v2.0", "data": data}, ensure_ascii=False) + "\n")


def split_by_article(examples: Sequence[Example], share: float, seed: int) -> tuple[list[Example], list[Example]]:
    """Return (training, held-out) examples, without an article in both; one title is one article in all files.

    Only articles that have questions without an answer are drawn, large ones more often, until
    ``share`` of the questions is held out; an article that would more than double it is passed over.
    """
    sizes = Counter(map(subject, examples))
    chance = random.Random(seed)
    candidates = sorted({subject(example) for example in examples if not example.answers})
    candidates.sort(key=lambda name: -(chance.random() ** (1 / sizes[name])))
    wanted, count = share * len(examples), 0
    held: set[str] = set()
    for name in candidates:
        if count < wanted and count + sizes[name] <= 2 * wanted:
            held.add(name)
            count += sizes[name]
    return [one for one in examples if subject(one) not in held], [one for one in examples if subject(one) in held]


def subject(example: Example) -> str:
    """Return what says whether two examples are of one article: its title in whatever file, else the article."""
    return example.title.replace("_", " ").strip().casefold() or example.article
