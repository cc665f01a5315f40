"""Small corpora, each with questions that it answers and questions that it does not.

Five corpora: the shipped one, SQuAD's held-out articles, passages of ASQA's training questions, TimeQA's subjects, and
RAMDocs without its planted documents. What a corpus does not answer is of four kinds: questions of other data sets
(``other``), questions whose passages were taken out (``removed``), questions of the corpus in which a name or number is
exchanged for one that stands nowhere in it (``swapped``), and people's unanswerable questions of SQuAD (``written``).
"""

import json
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyqa.base.rows import read_lines
from polyqa.base.values import Passage
from polyqa.colbert_index import read_corpus
from polyqa.evaluation.homonyms import corpus_path
from polyqa.evaluation.loading import load_questions
from polyqa.metrics.gold import Question
from polyqa.metrics.text import names_and_numbers

from .training.squad import Example, read_squad

OTHER, REMOVED, SWAPPED, WRITTEN = "other", "removed", "swapped", "written"


@dataclass(frozen=True)
class Asked:
    """A question over a corpus, and the answers that are right; without any it is unanswerable, of a ``kind``."""

    question: str
    answers: tuple[str, ...] = ()
    kind: str = ""


@dataclass(frozen=True)
class Item:
    """A question of a data set, the aliases of all right answers, and the passages that it is about."""

    question: str
    answers: tuple[str, ...]
    passages: tuple[Passage, ...]


@dataclass(frozen=True)
class Corpus:
    """Passages, and what is asked over them."""

    name: str
    passages: tuple[Passage, ...]
    asked: tuple[Asked, ...]


def items(data: Path) -> dict[str, list[Item]]:
    """Return the questions of each corpus."""
    return {
        "homonyms": _homonyms(),
        "SQuAD": _squad(data / "squad" / "reader_eval.json"),
        "ASQA": _asqa(data / "squad" / "reader_train_nq_style.json"),
        "TimeQA": _timeqa(data / "training" / "disambig_timeqa_groups.jsonl.gz"),
        "RAMDocs": _ramdocs(data / "ramdocs"),
    }


def corpora(data: Path, *, count: int, seed: int) -> list[Corpus]:
    """Return the five corpora, each with ``count`` questions that it answers and about as many that it does not."""
    chance = random.Random(seed)
    items_by_corpus = items(data)
    elsewhere = [*_situated(data / "situatedqa"), *_ambignq(data / "ambignq" / "train_light.json")]
    written = _squad_impossible(data / "squad" / "reader_eval.json")
    drawn = {
        name: chance.sample(corpus_items, min(len(corpus_items), count + count // 4))
        for name, corpus_items in items_by_corpus.items()
    }
    drawn_corpora = []
    for name, corpus_items in drawn.items():
        removed_items, kept_items = corpus_items[count:], corpus_items[:count]
        left_out = {passage.pid for item in removed_items for passage in item.passages}
        texts = [passage for item in kept_items for passage in item.passages]
        if name == "homonyms":  # the whole corpus, with all that is like what was taken out
            texts = list(read_corpus(corpus_path()))
        if name == "SQuAD":
            texts = [passage for item in items_by_corpus[name] for passage in item.passages]
            removed_items = []
        passages = tuple(
            {passage.pid: passage for passage in texts if passage.pid not in left_out or name == "SQuAD"}.values()
        )
        other_questions = [item.question for other in drawn if other != name for item in drawn[other]]
        swapped = _swapped(kept_items, other_questions, passages, chance, count // 4)
        questions = [
            *(Asked(item.question, item.answers) for item in kept_items if _holds(item, passages)),
            *(Asked(question, kind=OTHER) for question in chance.sample(elsewhere, count // 4)),
            *(Asked(question, kind=OTHER) for question in chance.sample(other_questions, count // 8)),
            *(Asked(item.question, kind=REMOVED) for item in removed_items),
            *(Asked(question, kind=SWAPPED) for question in swapped),
        ]
        if name == "SQuAD":
            questions += [Asked(question, kind=WRITTEN) for question in chance.sample(written, count // 2)]
        drawn_corpora.append(Corpus(name, passages, tuple(chance.sample(questions, len(questions)))))
    return drawn_corpora


def _holds(item: Item, passages: Sequence[Passage]) -> bool:
    pids = {passage.pid for passage in passages}
    return any(passage.pid in pids for passage in item.passages)


def _swapped(
    items: Sequence[Item],
    other_questions: Sequence[str],
    passages: Sequence[Passage],
    chance: random.Random,
    count: int,
) -> Iterator[str]:
    """Yield questions of a corpus in which one name or number is that of another corpus's question."""
    text = " ".join(passage.indexed_text for passage in passages).casefold()
    foreign = [
        name for question in other_questions for name in names_and_numbers(question) if name.casefold() not in text
    ]
    words = [name for name in foreign if not name[0].isdigit()]
    numbers = [name for name in foreign if name[0].isdigit()] or ["1807"]
    for item in chance.sample(items, len(items)):
        names = names_and_numbers(item.question)
        if names and words and count:
            name = chance.choice(names)
            other = chance.choice(numbers if name[0].isdigit() else words)
            yield re.sub(rf"\b{re.escape(name)}\b", other, item.question, count=1)
            count -= 1


def _once(answers: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(alias for aliases in answers for alias in aliases))


def _homonyms() -> list[Item]:
    questions = load_questions("homonyms/train")
    pids = [[reading.pid for reading in question.readings if reading.pid] for question in questions]
    return _cited(questions, corpus_path(), pids)


def _cited(questions: Sequence[Question], corpus: Path, pids: Sequence[Sequence[str]]) -> list[Item]:
    passages = {passage.pid: passage for passage in read_corpus(corpus)}
    return [
        Item(
            question.question,
            _once(reading.short_answers for reading in question.readings),
            tuple(passages[pid] for pid in question_pids),
        )
        for question, question_pids in zip(questions, pids, strict=True)
    ]


def _passage(example: Example) -> Passage:
    heading, _, text = example.context.rpartition("\n\n")
    about = heading.partition("\n")[0] or ("" if "?" in example.title else example.title.replace("_", " "))
    return Passage(pid=f"{example.article} {example.context}", title=about, text=text)


def _squad(path: Path) -> list[Item]:
    answerable = [example for example in read_squad(path) if example.answers]
    return [Item(example.question, _once([example.texts]), (_passage(example),)) for example in answerable]


def _squad_impossible(path: Path) -> list[str]:
    return [example.question for example in read_squad(path) if not example.answers]


def _asqa(path: Path) -> list[Item]:
    examples_of: dict[str, list[Example]] = {}
    for example in read_squad(path):
        examples_of.setdefault(example.title, []).append(example)
    return [
        Item(question, answers, tuple({example.context: _passage(example) for example in examples}.values()))
        for question, examples in examples_of.items()
        if (answers := _once(example.texts for example in examples))
    ]


def _timeqa(path: Path) -> list[Item]:
    group_items = []
    for number, group in _json_lines(path):
        texts = dict.fromkeys([group["lead"], *(text for reading in group["readings"] for text in reading["passages"])])
        passages = (Passage(pid=f"{number}-{at}", title=group["title"], text=text) for at, text in enumerate(texts))
        answers = _once(reading["answers"] for reading in group["readings"])
        group_items.append(Item(group["ambiguous_question"], answers, tuple(passages)))
    return group_items


def _json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    return ((number, json.loads(line)) for number, line in read_lines(path))


def _ramdocs(folder: Path) -> list[Item]:
    questions = load_questions(folder / "open250.json")
    pids = [[text.pid for text in question.documents if text.kind != "misinfo"] for question in questions]
    return _cited(questions, folder / "corpus.jsonl", pids)


def _situated(folder: Path) -> list[str]:
    return [
        entry["edited_question"] for kind in ("geo", "temp") for _, entry in _json_lines(folder / f"{kind}.train.jsonl")
    ][::6]


def _ambignq(path: Path) -> list[str]:
    return [entry["question"] for entry in json.loads(path.read_bytes())][::6]
