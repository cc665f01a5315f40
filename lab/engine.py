"""How well the embedded engine finds readings in corpora that it was not fitted to: `python -m lab.engine DATA`.

DATA holds the open data sets of `lab/README.md`. Each corpus is left out once: the weights of `evidence.Features` are
fitted to the others, which count alike, and readings are chosen with them in the corpus that was left out.
"""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from polyqa.base.values import Passage
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
from .corpora import Item, items
from .nearest import nearest_by_words

_PASSAGES = 5
_STRETCH, _SHIFT = 1.777, -0.481
"""Of the fitted log-odds: thresholds of other skills keep their meaning."""
Weighting = tuple[float, NDArray[np.float64]]
Found = list[tuple[Item, list[Evidence]]]


def chosen_items(data: Path, count: int, seed: int) -> Iterator[tuple[str, list[Item]]]:
    """Yield the corpora by name, each with at most so many questions, drawn with a seed, and what is read for them."""
    chance = random.Random(seed)
    every = items(data, planted=True)
    pools = {"homonyms": list(read_corpus(corpus_path()))}
    for name in ("ASQA", "SQuAD"):
        pools[name] = list({one.pid: one for item in every[name] for one in item.passages}.values())
    asked = load_questions(data / "ambignq/train_light.json")
    every["AmbigNQ"] = [Item(one.question, tuple(r.short_answers for r in one.readings), ()) for one in asked]
    pools["AmbigNQ"] = [*pools["ASQA"], *read_corpus(data / "asqa/corpus.jsonl")]
    every["ASQA"] = [item for item in every["ASQA"] if len(item.passages) > 1]
    in_asqa = {item.question for item in every["ASQA"]}
    for name, some in every.items():
        if name == "AmbigNQ":
            drawn = [item for item in chance.sample(some, 20 * count) if item.question not in in_asqa]
            yield name, [item for item in _searched(drawn, pools[name]) if _answered(item)][:count]
            continue
        drawn = chance.sample(some, min(count, len(some)))
        if name == "SQuAD":  # each in its own article
            articles = [[one for one in pools[name] if one.title == item.passages[0].title] for item in drawn]
            yield name, [_searched([item], own)[0] for item, own in zip(drawn, articles, strict=True)]
        elif name == "homonyms":
            yield name, _searched(drawn, pools[name])
        else:
            yield name, [replace(item, passages=item.passages[:_PASSAGES]) for item in drawn]


def _searched(asked: Sequence[Item], pool: Sequence[Passage]) -> list[Item]:
    found = nearest_by_words([one.indexed_text for one in pool], [item.question for item in asked], _PASSAGES)
    pairs = zip(asked, found, strict=True)
    return [replace(item, passages=tuple(pool[place] for place in places)) for item, places in pairs]


def _answered(item: Item) -> bool:
    """Return whether half of the answers stand in the passages."""
    texts = [passage.indexed_text for passage in item.passages]
    return 2 * sum(any(has_answer(aliases, text) for text in texts) for aliases in item.gold) >= len(item.gold)


def _same(answer: str, aliases: Sequence[str]) -> bool:
    return any(same_answer(answer, alias) for alias in aliases)


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


def _shown(number: int, passage: Passage) -> PromptPassage:
    return PromptPassage(number, passage.title, passage.text)


def main(
    data: Annotated[Path, typer.Argument(help="Folder of the open data sets.")],
    count: Annotated[int, typer.Option(help="Questions of each corpus.")] = 60,
    seed: Annotated[int, typer.Option(help="Draws the questions.")] = 0,
) -> None:
    """Print for each corpus what is right and found with the engine's weights, and with those of the other corpora."""
    models = Models(Encoder(), Reader(precision="auto"))
    read: dict[str, Found] = {}
    for name, some in chosen_items(data, count, seed):
        read[name] = [
            (item, gather(item.question, [_shown(n, one) for n, one in enumerate(item.passages, 1)], models))
            for item in some
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
