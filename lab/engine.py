"""How well the embedded engine finds readings in corpora that it was not fitted to: `python -m lab.engine DATA`.

DATA holds the open data sets of `lab/README.md`. Each corpus is left out once: the weights of `evidence.Features` are
fitted to the others, which count alike, and readings are chosen with them in the corpus that was left out.
"""

import gzip
import json
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from polyqa.colbert_index import read_corpus
from polyqa.evaluation.homonyms import corpus_path
from polyqa.evaluation.loading import load_questions
from polyqa.evaluation.tables import markdown_table
from polyqa.extractive.evidence import BIAS, WEIGHTS, Evidence, Features, Models, gather, same_answer, telling
from polyqa.extractive.prompt import PromptPassage
from polyqa.extractive.readings import supported
from polyqa.metrics import has_answer
from polyqa.models import Encoder, Reader

from .confidence import fit_weights
from .nearest import nearest_by_words

_PASSAGES = 5
_STRETCH, _SHIFT = 1.777, -0.481
"""Of the fitted log-odds: thresholds of other skills keep their meaning."""
Texts = Sequence[tuple[str, str]]
Weighting = tuple[float, NDArray[np.float64]]


@dataclass(frozen=True)
class Item:
    """A question with the passages that are read for it, title and text, and the aliases of each gold answer."""

    question: str
    passages: Texts
    gold: Sequence[Sequence[str]]


def corpora(data: Path, count: int, seed: int) -> Iterator[tuple[str, list[Item]]]:
    """Yield the corpora by name, each with at most so many questions, drawn with a seed."""
    chance = random.Random(seed)
    homonyms = [(one.title, one.text) for one in read_corpus(corpus_path())]
    asked = [
        (one.question, [reading.short_answers for reading in one.readings])
        for one in load_questions("homonyms", split="train")
    ]
    yield "homonyms", _searched(chance.sample(asked, min(count, len(asked))), homonyms)
    articles = json.loads((data / "squad/reader_train_nq_style.json").read_text("utf-8"))["data"]
    aligned = {article["title"]: [_titled(one["context"]) for one in article["paragraphs"]] for article in articles}
    pool = list(dict.fromkeys(passage for passages in aligned.values() for passage in passages))
    asqa = {one.question: one for one in load_questions(data / "asqa/asqa_train3809.jsonl")}
    known = sorted(question for question in aligned if question in asqa and len(aligned[question]) > 1)
    yield (
        "ASQA",
        [
            Item(question, aligned[question][:_PASSAGES], [one.short_answers for one in asqa[question].readings])
            for question in chance.sample(known, count)
        ],
    )
    ambignq = [
        (one.question, [reading.short_answers for reading in one.readings])
        for one in chance.sample(load_questions(data / "ambignq/train_light.json"), count * 20)
        if one.question not in asqa
    ]
    pool += [(one.title, one.text) for one in read_corpus(data / "asqa/corpus.jsonl")]
    yield "AmbigNQ", [item for item in _searched(ambignq, pool) if _answered(item)][:count]
    with gzip.open(data / "training/disambig_timeqa_groups.jsonl.gz", "rt", encoding="utf-8") as lines:
        groups = chance.sample(list(map(json.loads, lines)), count)
    yield "TimeQA", list(map(_group, groups))
    texts = {one.pid: one.text for one in read_corpus(data / "ramdocs/corpus.jsonl")}
    ramdocs = load_questions(data / "ramdocs/open250.json")
    yield (
        "RAMDocs",
        [
            Item(
                one.question,
                [("", texts[document.pid]) for document in one.documents],
                [r.short_answers for r in one.readings],
            )
            for one in chance.sample(ramdocs, count)
        ],
    )
    squad = json.loads((data / "squad/reader_eval.json").read_text("utf-8"))["data"]
    plain = [
        (asked, article["title"].replace("_", " "), [one["context"] for one in article["paragraphs"]])
        for article in squad
        for paragraph in article["paragraphs"]
        for asked in paragraph["qas"]
        if not asked["is_impossible"]
    ]
    yield (
        "SQuAD",
        [
            _searched(
                [(asked["question"], [[one["text"] for one in asked["answers"]]])], [(title, text) for text in own]
            )[0]
            for asked, title, own in chance.sample(plain, count)
        ],
    )


def _titled(context: str) -> tuple[str, str]:
    title, _, text = context.partition("\n\n")
    return (title, text) if text else ("", title)


def _searched(asked: Sequence[tuple[str, Sequence[Sequence[str]]]], pool: Texts) -> list[Item]:
    found = nearest_by_words([" ".join(one) for one in pool], [question for question, _ in asked], _PASSAGES)
    return [
        Item(question, [pool[place] for place in places], gold)
        for (question, gold), places in zip(asked, found, strict=True)
    ]


def _answered(item: Item) -> bool:
    """Return whether half of the answers stand in the passages."""
    texts = [" ".join(passage) for passage in item.passages]
    return 2 * sum(any(has_answer(aliases, text) for text in texts) for aliases in item.gold) >= len(item.gold)


def _group(group: Mapping[str, Any]) -> Item:
    passages = [passage for reading in group["readings"] for passage in reading["passages"]]
    texts = list(dict.fromkeys([*passages, group["lead"]]))[:_PASSAGES]
    gold = [reading["answers"] for reading in group["readings"]]
    return Item(group["ambiguous_question"], [(group["title"], text) for text in texts], gold)


def _same(answer: str, aliases: Sequence[str]) -> bool:
    return any(same_answer(answer, alias) for alias in aliases)


Found = list[tuple[Item, list[Evidence]]]


def fitted(corpora: Sequence[Found]) -> Weighting:
    """Return bias and weights of a logistic regression over the answers; each corpus has the same weight."""
    told = [
        (one, item, str(at))
        for at, found in enumerate(corpora)
        for item, evidence in found
        for one in telling(item.question, evidence)
    ]
    right = np.array([any(_same(one.answer, aliases) for aliases in item.gold) for one, item, _ in told])
    weights, bias = fit_weights(np.array([one.features for one, _, _ in told]), right, [name for *_, name in told])
    return _SHIFT + _STRETCH * bias, _STRETCH * weights


def chosen(found: Found, weighting: Weighting) -> tuple[float, float, float]:
    """Return how many of a hundred shown readings are right, how many gold answers are found, readings a question."""
    bias, weights = weighting
    shown = right = gold = met = 0
    for item, evidence in found:
        weighed = [replace(one, support=1 / (1 + math.exp(-bias - float(weights @ one.features)))) for one in evidence]
        readings = supported(item.question, sorted(weighed, key=lambda one: -one.support))
        shown += len(readings)
        right += sum(any(_same(one.answer, aliases) for aliases in item.gold) for one in readings)
        gold += len(item.gold)
        met += sum(any(_same(one.answer, aliases) for one in readings) for aliases in item.gold)
    return 100 * right / max(1, shown), 100 * met / gold, shown / len(found)


def main(
    data: Annotated[Path, typer.Argument(help="Folder of the open data sets.")],
    count: Annotated[int, typer.Option(help="Questions of each corpus.")] = 60,
    seed: Annotated[int, typer.Option(help="Draws the questions.")] = 0,
) -> None:
    """Print for each corpus what is right and found with the engine's weights, and with those of the other corpora."""
    models = Models(Encoder(), Reader(precision="auto"))
    read: dict[str, Found] = {}
    for name, items in corpora(data, count, seed):
        read[name] = [
            (item, gather(item.question, [PromptPassage(n, *one) for n, one in enumerate(item.passages, 1)], models))
            for item in items
        ]
    rows = []
    for name, found in read.items():
        others = fitted([one for other, one in read.items() if other != name])
        now = chosen(found, (BIAS, np.array(WEIGHTS)))
        rows.append([name, *(f"{value:.1f}" for value in (*now, *chosen(found, others)))])
    print(markdown_table(["corpus", "right", "found", "shown", "left out: right", "found", "shown"], rows))
    bias, weights = fitted(list(read.values()))
    print(f"fitted to all: {bias:.2f}", Features(*(round(float(weight), 3) for weight in weights)))


if __name__ == "__main__":
    typer.run(main)
