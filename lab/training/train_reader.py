"""Trains the span reader: ``python -m lab.training.train_reader --help``.

A reader must find answers and tell when there is none; the second is what takes the work, so every epoch
draws new hard negatives (see `negatives`). A run that is killed goes on with its last epoch when the same command is
given again.
"""

import json
import random
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from transformers import AutoModelForQuestionAnswering, AutoTokenizer

from polyqa.base.errors import PolyqaError
from polyqa.base.files import write_atomically
from polyqa.colbert_index import read_corpus
from polyqa.models.encoder import EMBEDDED_ENCODER
from polyqa.models.reader import Reader
from polyqa.models.spans import Reading

from . import commands
from .backbone import backbone_path, freeze, load_for_training, write_model
from .features import Feature, bucketed, collate, make_features
from .loop import Schedule, train
from .negatives import Context, NegativeMiner
from .scoring import best_threshold, score
from .squad import Example, read_squad, split_by_article, subject

EvalFiles = Annotated[list[Path], typer.Option("--eval", help="SQuAD 2.0 file to report on; repeat for more.")]
Calibrate = Annotated[
    Path | None, typer.Option(help="SQuAD 2.0 file to choose the null threshold on; its articles are not trained on.")
]


@dataclass(frozen=True)
class Data:
    """What is trained and measured on; where a calibration set is held out, nothing is chosen on ``evaluate``."""

    train: Annotated[list[Path], typer.Option(help="SQuAD 2.0 file to train on; repeat for more.")]
    evaluate: EvalFiles = field(default_factory=list)
    corpus: Annotated[Path | None, typer.Option(help="corpus.jsonl to draw more negatives from.")] = None
    calibration: Annotated[
        float, typer.Option(help="Share of the questions that the null threshold is chosen on, without --calibrate.")
    ] = 0.015
    calibrate: Calibrate = None

    def parted(self, seed: int) -> tuple[list[Example], list[Example]]:
        """Return (training, held-out) questions, without an article in both."""
        every = [example for path in self.train for example in read_squad(path)]
        if self.calibrate is None:
            return split_by_article(every, self.calibration, seed)
        held = read_squad(self.calibrate)
        kept_out = {subject(example) for example in held}
        return [example for example in every if subject(example) not in kept_out], held


@dataclass(frozen=True)
class Setup:
    """What is trained, and what an epoch shows."""

    init: Annotated[str, typer.Option(help="The embedded encoder, a reader's folder or a hub name.")] = EMBEDDED_ENCODER
    dropout: Annotated[float, typer.Option(help="Share of hidden features that is dropped.")] = 0.1
    frozen_layers: Annotated[int, typer.Option(help="Lower layers, with the embeddings, that stay as they are.")] = 0
    batch_size: Annotated[int, typer.Option(min=1, help="Windows per step.")] = 32
    max_length: Annotated[int, typer.Option(help="Tokens per window.")] = 256
    stride: Annotated[int, typer.Option(help="Tokens that neighbouring windows share.")] = 96
    negatives: Annotated[float, typer.Option(help="Hard negatives per answerable question, 0 to 1.")] = 0.5
    null_copies: Annotated[int, typer.Option(help="How often a question without an answer is shown.")] = 2
    titles: Annotated[float, typer.Option(help="Share of the contexts with their title in front.")] = 0.25


def titled(example: Example) -> Example:
    """Return the example with its title before the context, as passages are shown in prompts."""
    title = example.title.replace("_", " ").strip()
    mark = f"{title} | " if title else ""
    answers = tuple((start + len(mark), text) for start, text in example.answers)
    return replace(example, context=mark + example.context, answers=answers)


def epoch_examples(
    examples: Sequence[Example], miner: NegativeMiner, chance: random.Random, setup: Setup
) -> list[Example]:
    """Return what one epoch shows: the examples, and negatives drawn from them."""
    shown = []
    for example in examples:
        shown += [example] * (1 if example.answers else setup.null_copies)
        drawn = bool(example.answers) and chance.random() < setup.negatives
        if drawn and (found := miner.draw(example, chance)) is not None:
            shown.append(found)
    return [titled(example) if chance.random() < setup.titles else example for example in shown]


def run(data: Data, setup: Setup, schedule: Schedule, out: Path) -> dict[str, Any]:
    """Train, calibrate, measure; return the report, which is also written to ``report.json``.

    Parameters
    ----------
    out
        Takes the training state, the log, the report, and the reader: ``model`` (float16, for `transformers`)
        and ``shipped`` (int8, with card and curve).

    Raises
    ------
    PolyqaError
        If a file is faulty, no question has an answer, or ``out`` holds another run.
    """
    examples, held = data.parted(schedule.seed)
    if not any(example.answers for example in examples):
        raise PolyqaError("No training question has an answer. Give a --train file with answerable questions.")
    corpus = read_corpus(data.corpus) if data.corpus else []
    contexts = [Context(passage.text, f"corpus {passage.pid}", passage.title) for passage in corpus]
    model = load_for_training(AutoModelForQuestionAnswering, setup.init, dropout=setup.dropout)
    tokenizer = AutoTokenizer.from_pretrained(backbone_path(setup.init))
    freeze(model.base_model, setup.frozen_layers)
    model.to("cuda" if torch.cuda.is_available() else "cpu")
    miner = NegativeMiner(examples, contexts)

    def batches(chance: random.Random) -> list[list[Feature]]:
        shown = epoch_examples(examples, miner, chance, setup)
        features = make_features(shown, tokenizer, max_length=setup.max_length, stride=setup.stride)
        groups = bucketed([len(feature.ids) for feature in features], setup.batch_size, chance)
        return [[features[position] for position in group] for group in groups]

    def loss(batch: list[Feature]) -> Any:
        inputs = collate(batch, tokenizer)
        return model(**{name: tensor.to(model.device) for name, tensor in inputs.items()}).loss

    identity = [asdict(setup), [asdict(example) for example in examples], [asdict(context) for context in contexts]]
    train(model, batches, loss, schedule, out, identity=identity)
    held_out = data.calibrate.name if data.calibrate else data.calibration
    report = {"schedule": asdict(schedule), "settings": asdict(setup) | {"calibration": held_out}}
    report |= write_and_measure(model, tokenizer, out, held, data.evaluate)
    commands.write_report(report, out)
    return report


def write_and_measure(
    model: Any, tokenizer: Any, out: Path, held: Sequence[Example], evaluate: Sequence[Path]
) -> dict[str, Any]:
    """Write a reader in both forms, choose its null threshold on ``held``, and measure both on files.

    Without ``held`` the threshold is 0.

    Returns
    -------
    dict
        ``null_threshold``; ``calibration``, ``evaluation`` (int8) and ``evaluation_float16`` where there are
        questions for them.
    """
    write_model(model, tokenizer, out / "model")
    write_model(model, tokenizer, out / "shipped", small=True)
    report: dict[str, Any] = {"null_threshold": 0.0}
    if held:
        readings, _ = read_with(out / "shipped", held)
        report["null_threshold"] = best_threshold(held, readings)
        report["calibration"] = score(held, readings, report["null_threshold"])
    evaluated = [example for path in evaluate for example in read_squad(path)]
    for key, name in (("evaluation", "shipped"), ("evaluation_float16", "model")):
        if evaluated:
            readings, seconds = read_with(out / name, evaluated)
            scores = score(evaluated, readings, report["null_threshold"])
            report[key] = scores | {"seconds_per_1000_pairs": seconds}
        configuration = json.loads((out / name / "config.json").read_text(encoding="utf-8"))
        configuration["null_threshold"] = report["null_threshold"]
        write_atomically(out / name / "config.json", json.dumps(configuration, indent=2) + "\n")
    return report


def read_with(folder: Path, examples: Sequence[Example]) -> tuple[list[Reading], float]:
    """Return what a written reader reads in the examples, and its seconds per 1,000 of them."""
    reader = Reader(str(folder), precision="auto", batch_size=32)
    reader.network  # noqa: B018 - loading is not part of the time
    started = time.perf_counter()
    readings = reader.read([(example.question, example.context) for example in examples])
    return readings, 1000 * (time.perf_counter() - started) / len(examples)


if __name__ == "__main__":
    commands.run_trainer(run, "Span reader with a null answer", Data([]), Setup(), Schedule(epochs=4))
