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
    every = items(data)
    elsewhere = [*_situated(data / "situatedqa"), *_ambignq(data / "ambignq" / "train_light.json")]
    written = _squad_impossible(data / "squad" / "reader_eval.json")
    drawn = {name: chance.sample(some, min(len(some), count + count // 4)) for name, some in every.items()}
    made = []
    for name, some in drawn.items():
        removed, kept = some[count:], some[:count]
        left_out = {passage.pid for item in removed for passage in item.passages}
        texts = [passage for item in kept for passage in item.passages]
        if name == "homonyms":  # the whole corpus, with all that is like what was taken out
            texts = list(read_corpus(corpus_path()))
        if name == "SQuAD":
            texts = [passage for item in every[name] for passage in item.passages]
            removed = []
        passages = tuple({one.pid: one for one in texts if one.pid not in left_out or name == "SQuAD"}.values())
        others = [item.question for other in drawn if other != name for item in drawn[other]]
        asked = [
            *(Asked(item.question, item.answers) for item in kept if _holds(item, passages)),
            *(Asked(question, kind=OTHER) for question in chance.sample(elsewhere, count // 4)),
            *(Asked(question, kind=OTHER) for question in chance.sample(others, count // 8)),
            *(Asked(item.question, kind=REMOVED) for item in removed),
            *(Asked(question, kind=SWAPPED) for question in _swapped(kept, others, passages, chance, count // 4)),
        ]
        if name == "SQuAD":
            asked += [Asked(question, kind=WRITTEN) for question in chance.sample(written, count // 2)]
        made.append(Corpus(name, passages, tuple(chance.sample(asked, len(asked)))))
    return made


def _holds(item: Item, passages: Sequence[Passage]) -> bool:
    pids = {passage.pid for passage in passages}
    return any(passage.pid in pids for passage in item.passages)


def _swapped(
    items: Sequence[Item], others: Sequence[str], passages: Sequence[Passage], chance: random.Random, count: int
) -> Iterator[str]:
    """Yield questions of a corpus in which one name or number is that of another corpus's question."""
    text = " ".join(passage.indexed_text for passage in passages).casefold()
    foreign = [name for question in others for name in names_and_numbers(question) if name.casefold() not in text]
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
    asked = load_questions("homonyms/train")
    return _cited(asked, corpus_path(), [[reading.pid for reading in one.readings if reading.pid] for one in asked])


def _cited(questions: Sequence[Question], corpus: Path, pids: Sequence[Sequence[str]]) -> list[Item]:
    passages = {passage.pid: passage for passage in read_corpus(corpus)}
    return [
        Item(
            one.question, _once(reading.short_answers for reading in one.readings), tuple(passages[pid] for pid in own)
        )
        for one, own in zip(questions, pids, strict=True)
    ]


def _passage(example: Example) -> Passage:
    heading, _, text = example.context.rpartition("\n\n")
    about = heading.partition("\n")[0] or ("" if "?" in example.title else example.title.replace("_", " "))
    return Passage(pid=f"{example.article} {example.context}", title=about, text=text)


def _squad(path: Path) -> list[Item]:
    return [Item(one.question, _once([one.texts]), (_passage(one),)) for one in read_squad(path) if one.answers]


def _squad_impossible(path: Path) -> list[str]:
    return [one.question for one in read_squad(path) if not one.answers]


def _asqa(path: Path) -> list[Item]:
    found: dict[str, list[Example]] = {}
    for one in read_squad(path):
        found.setdefault(one.title, []).append(one)
    return [
        Item(question, answers, tuple({one.context: _passage(one) for one in examples}.values()))
        for question, examples in found.items()
        if (answers := _once(one.texts for one in examples))
    ]


def _timeqa(path: Path) -> list[Item]:
    made = []
    for number, group in _json_lines(path):
        texts = dict.fromkeys([group["lead"], *(text for one in group["readings"] for text in one["passages"])])
        passages = (Passage(pid=f"{number}-{at}", title=group["title"], text=text) for at, text in enumerate(texts))
        answers = _once(one["answers"] for one in group["readings"])
        made.append(Item(group["ambiguous_question"], answers, tuple(passages)))
    return made


def _json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    return ((number, json.loads(line)) for number, line in read_lines(path))


def _ramdocs(folder: Path) -> list[Item]:
    asked = load_questions(folder / "open250.json")
    pids = [[text.pid for text in one.documents if text.kind != "misinfo"] for one in asked]
    return _cited(asked, folder / "corpus.jsonl", pids)


def _situated(folder: Path) -> list[str]:
    return [
        one["edited_question"] for kind in ("geo", "temp") for _, one in _json_lines(folder / f"{kind}.train.jsonl")
    ][::6]


def _ambignq(path: Path) -> list[str]:
    return [one["question"] for one in json.loads(path.read_bytes())][::6]
