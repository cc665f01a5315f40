"""Trains the span reader: ``python -m lab.training.train_reader --help``.

A reader must find answers and tell when there is none; the second is what takes the work, so every epoch
draws new hard negatives (see `negatives`). A run that is killed goes on where it was when the same command is
given again.
"""

import json
import random
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from polyqa.base.errors import PolyqaError
from polyqa.base.files import write_atomically
from polyqa.colbert_index import read_corpus
from polyqa.models.encoder import EMBEDDED_ENCODER
from polyqa.models.reader import Reader
from polyqa.models.spans import Reading

from . import commands
from .backbone import backbone_path, fit_attention, freeze, load_for_training, write_model
from .card import reader_card
from .features import Feature, bucketed, collate, make_features
from .loop import Schedule, train
from .negatives import Context, NegativeMiner
from .scoring import best_threshold, crossed_score, score
from .squad import Example, read_squad, split_by_article, subject


@dataclass(frozen=True)
class Data:
    """What is trained and measured on.

    Attributes
    ----------
    train, evaluate
        Files of SQuAD 2.0's format. Where a calibration set is held out, nothing is chosen on the latter.
    corpus
        What `read_corpus` reads, to draw more negatives from.
    calibration
        Share of the training questions, by article, that the null threshold is chosen on and that is not
        trained on.
    calibrate
        File to choose it on instead; none of its articles, by title, is trained on.
    limit
        Only the first so many training questions (for a trial).
    """

    train: Sequence[Path]
    evaluate: Sequence[Path] = ()
    corpus: Path | None = None
    calibration: float = 0.015
    limit: int | None = None
    calibrate: Path | None = None

    def parted(self, seed: int) -> tuple[list[Example], list[Example]]:
        """Return (training, held-out) questions, without an article in both."""
        every = [example for path in self.train for example in read_squad(path)]
        if self.calibrate is None:
            return split_by_article(every[: self.limit], self.calibration, seed)
        held = read_squad(self.calibrate)
        kept_out = {subject(example) for example in held}
        return [example for example in every if subject(example) not in kept_out][: self.limit], held


@dataclass(frozen=True)
class Setup:
    """What is trained, and what an epoch shows.

    Attributes
    ----------
    init
        The embedded encoder, a reader's folder or a hub name.
    dropout
        Share of hidden features that is dropped.
    frozen_layers
        Lower layers, with the embeddings, that are left as they are; 0 trains all.
    batch_size
        Windows per step.
    max_length, stride
        Tokens per window, and tokens that neighbouring windows share.
    negatives
        Hard negatives per answerable question, in [0, 1].
    null_copies
        How often a question without an answer is shown: people wrote those, rules the negatives.
    titles
        Share of the contexts that get their title in front.
    """

    init: str = EMBEDDED_ENCODER
    dropout: float = 0.1
    frozen_layers: int = 0
    batch_size: int = 32
    max_length: int = 256
    stride: int = 96
    negatives: float = 0.5
    null_copies: int = 2
    titles: float = 0.25


def titled(example: Example) -> Example:
    """Return the example with its title before the context, as passages are shown in prompts."""
    title = example.title.replace("_", " ").strip()
    if not title:
        return example
    mark = f"{title} | "
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


def run(data: Data, setup: Setup, schedule: Schedule, out: Path, *, save_every: int = 200) -> dict[str, Any]:
    """Train, calibrate, measure; return the report, which is also written to ``report.json``.

    Parameters
    ----------
    out
        Takes the training state, the log, the report, and the reader: ``model`` (float16, for `transformers`)
        and ``shipped`` (int8, with card and curve).
    save_every
        Steps between checkpoints of the run.

    Raises
    ------
    PolyqaError
        If a file is faulty, no question has an answer, or ``out`` holds another run.
    """
    import torch
    from transformers import AutoModelForQuestionAnswering, AutoTokenizer

    examples, held = data.parted(schedule.seed)
    if not any(example.answers for example in examples):
        raise PolyqaError("No training question has an answer. Give a --train file with answerable questions.")
    evaluated = [example for path in data.evaluate for example in read_squad(path)]
    corpus = read_corpus(data.corpus) if data.corpus else []
    contexts = [Context(passage.text, f"corpus {passage.pid}", passage.title) for passage in corpus]
    model = load_for_training(AutoModelForQuestionAnswering, setup.init, dropout=setup.dropout)
    tokenizer = AutoTokenizer.from_pretrained(backbone_path(setup.init))
    freeze(model, setup.frozen_layers)
    miner = NegativeMiner(examples, contexts)

    def batches(epoch: int) -> list[list[Feature]]:
        chance = random.Random(f"{schedule.seed} {epoch}")
        shown = epoch_examples(examples, miner, chance, setup)
        features = make_features(shown, tokenizer, max_length=setup.max_length, stride=setup.stride)
        groups = bucketed([len(feature.ids) for feature in features], setup.batch_size, chance)
        return [[features[position] for position in group] for group in groups]

    def loss(batch: list[Feature]) -> Any:
        inputs = collate(batch, tokenizer.pad_token_id)
        fit_attention(model, inputs["input_ids"].shape[1])
        return model(**{name: tensor.to(model.device) for name, tensor in inputs.items()}).loss

    if torch.cuda.is_available():
        model.cuda()
    identity = [asdict(setup), [asdict(example) for example in examples], [asdict(context) for context in contexts]]
    train(model, batches, loss, schedule, out, identity=identity, save_every=save_every)
    held_out = data.calibrate.name if data.calibrate else data.calibration
    settings = asdict(setup) | {"calibration": held_out, "limit": data.limit}
    report = {"schedule": asdict(schedule), "settings": settings}
    report |= write_and_measure(model, tokenizer, out, held, evaluated)
    commands.write_report(report, out)
    return report


def write_and_measure(
    model: Any, tokenizer: Any, out: Path, held: Sequence[Example], evaluated: Sequence[Example]
) -> dict[str, Any]:
    """Write a reader in both forms, choose its null threshold on ``held``, and measure both on ``evaluated``.

    Without ``held`` the threshold is the best one of ``evaluated``, and its figures are `crossed_score`'s.

    Returns
    -------
    dict
        ``null_threshold``; ``calibration``, ``evaluation`` (int8) and ``evaluation_float16`` where there are
        questions for them.
    """
    write_model(model, tokenizer, out / "model")
    write_model(model, tokenizer, out / "shipped", small=True)
    report: dict[str, Any] = {}
    threshold: float | None = None
    if held:
        readings, _ = read_with(out / "shipped", held)
        threshold = best_threshold(held, readings)
        report["calibration"] = asdict(score(held, readings, threshold))
    report["null_threshold"] = threshold or 0.0
    if evaluated:
        for key, folder in (("evaluation", out / "shipped"), ("evaluation_float16", out / "model")):
            readings, seconds = read_with(folder, evaluated)
            if threshold is None:
                scores = crossed_score(evaluated, readings)
                if key == "evaluation":
                    report["null_threshold"] = best_threshold(evaluated, readings)
            else:
                scores = score(evaluated, readings, threshold)
            report[key] = asdict(scores) | {"seconds_per_1000_pairs": seconds}
    for folder in (out / "shipped", out / "model"):
        configuration = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        configuration["null_threshold"] = report["null_threshold"]
        write_atomically(folder / "config.json", json.dumps(configuration, indent=2) + "\n")
    return report


def read_with(folder: Path, examples: Sequence[Example]) -> tuple[list[Reading], float]:
    """Return what a written reader reads in the examples, and its seconds per 1,000 of them."""
    reader = Reader(str(folder), precision="auto", batch_size=32)
    reader.network  # noqa: B018 - loading is not part of the time
    started = time.perf_counter()
    readings = reader.read([(example.question, example.context) for example in examples])
    return readings, 1000 * (time.perf_counter() - started) / len(examples)


def main(
    train_files: Annotated[list[Path], typer.Option("--train", help="SQuAD 2.0 file to train on; repeat for more.")],
    out: Annotated[Path, typer.Option(help="Folder for state, log, report and reader (model/, shipped/).")],
    eval_files: commands.EvalFiles = None,
    corpus: Annotated[
        Path | None, typer.Option(help="corpus.jsonl (id, title, text) to draw more negatives from.")
    ] = None,
    init: commands.Init = Setup.init,
    epochs: commands.Epochs = 4,
    rate: commands.Rate = 2e-4,
    warmup: Annotated[float, typer.Option(help="Share of the run in which the rate rises.")] = 0.06,
    batch_size: commands.BatchSize = Setup.batch_size,
    max_length: Annotated[int, typer.Option(help="Tokens per window.")] = Setup.max_length,
    stride: Annotated[int, typer.Option(help="Tokens that neighbouring windows share.")] = Setup.stride,
    negatives: Annotated[float, typer.Option(help="Hard negatives per answerable question, 0 to 1.")] = Setup.negatives,
    null_copies: Annotated[
        int, typer.Option(help="How often a question without an answer is shown.")
    ] = Setup.null_copies,
    titles: Annotated[float, typer.Option(help="Share of the contexts with their title in front.")] = Setup.titles,
    dropout: commands.Dropout = Setup.dropout,
    frozen_layers: commands.FrozenLayers = Setup.frozen_layers,
    calibration: commands.Calibration = Data.calibration,
    calibrate: commands.Calibrate = None,
    limit: Annotated[int | None, typer.Option(help="Only so many training questions, for a trial.")] = None,
    threads: commands.Threads = None,
    save_every: commands.SaveEvery = 200,
    seed: commands.Seed = 0,
    bfloat16: commands.BFloat16 = True,
) -> None:
    """Train a span reader with a null answer; the same command again goes on after a kill."""
    commands.use_threads(threads)
    data = Data(train_files, eval_files or (), corpus, calibration, limit, calibrate)
    setup = Setup(init, dropout, frozen_layers, batch_size, max_length, stride, negatives, null_copies, titles)
    schedule = Schedule(epochs=epochs, peak=rate, warmup=warmup, seed=seed, bfloat16=bfloat16)
    report = run(data, setup, schedule, out, save_every=save_every)
    card = reader_card(report, out, commands.command_line("train_reader"))
    commands.finish(report, out, card, "Span reader")


if __name__ == "__main__":
    commands.run_command(lambda: typer.run(main))
