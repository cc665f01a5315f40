"""Trains the span reader: ``python -m polyqa.training.train_reader --help``.

A reader must find answers and tell when there is none; the second is what takes the work, so every epoch
draws new hard negatives (see `polyqa.training.negatives`). A run that is killed goes on where it was when the
same command is given again.
"""

import hashlib
import json
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from polyqa.embedded_models.spans import Reading

from .backbone import EMBEDDED_BACKBONE, backbone_path, fit_attention, freeze, load_for_training, write_model
from .card import reader_card
from .curve import draw_curve
from .errors import TrainingError
from .features import Feature, bucketed, collate, make_features
from .files import read_lines, write_text
from .loop import Recipe, train
from .negatives import Context, NegativeMiner
from .scoring import best_threshold, crossed_score, score
from .squad import Example, read_squad, split_by_article


def titled(example: Example) -> Example:
    """Return the example with its title before the context, as passages are shown in prompts."""
    title = example.title.replace("_", " ").strip()
    if not title:
        return example
    mark = f"{title} | "
    answers = tuple((start + len(mark), text) for start, text in example.answers)
    return replace(example, context=mark + example.context, answers=answers)


def epoch_examples(
    examples: Sequence[Example],
    miner: NegativeMiner,
    chance: random.Random,
    *,
    negatives: float,
    null_copies: int,
    titles: float,
) -> list[Example]:
    """Return what one epoch shows: the examples, and negatives drawn from them.

    Parameters
    ----------
    negatives
        How many negatives per answerable example, in [0, 1].
    null_copies
        How often a question without an answer is shown: people wrote those, rules the negatives.
    titles
        Share of the contexts that get their title in front.
    """
    shown = []
    for example in examples:
        shown += [example] * (1 if example.answers else null_copies)
        if example.answers and chance.random() < negatives and (found := miner.draw(example, chance)) is not None:
            shown.append(found)
    return [titled(example) if chance.random() < titles else example for example in shown]


def read_with(folder: Path, examples: Sequence[Example]) -> tuple[list[Reading], float]:
    """Return what a written reader reads in the examples, and its seconds per 1,000 of them."""
    from polyqa.embedded_models.reader import Reader

    reader = Reader(str(folder), precision="auto", batch_size=32)
    reader.parts  # noqa: B018 - loading is not part of the time
    started = time.perf_counter()
    readings = reader.read([(example.question, example.context) for example in examples])
    return readings, 1000 * (time.perf_counter() - started) / len(examples)


def _identity(files: Sequence[Path], settings: dict[str, Any]) -> str:
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _contexts(path: Path) -> list[Context]:
    rows = read_lines(path, "id", "text")
    return [Context(row["text"], f"corpus {row['id']}", row.get("title") or "") for row in rows]


def run(
    train_files: Sequence[Path],
    eval_files: Sequence[Path],
    out: Path,
    recipe: Recipe,
    *,
    init: str = EMBEDDED_BACKBONE,
    corpus: Path | None = None,
    batch_size: int = 32,
    max_length: int = 256,
    stride: int = 96,
    negatives: float = 0.5,
    null_copies: int = 2,
    titles: float = 0.25,
    dropout: float = 0.1,
    frozen_layers: int = 0,
    calibration: float = 0.015,
    limit: int | None = None,
    save_every: int = 200,
) -> dict[str, Any]:
    """Train, calibrate, measure; return the report, which is also written to ``report.json``.

    Parameters
    ----------
    train_files, eval_files
        Files of SQuAD 2.0's format. Nothing is chosen on the latter.
    out
        Takes the training state, the log, the report, and the reader: ``model`` (float16, for `transformers`)
        and ``shipped`` (int8, with card and curve).
    calibration
        Share of the training questions, by article, that the null threshold is chosen on and that is not
        trained on.
    limit
        Only the first so many training questions (for a trial).

    The other parameters are the command's options.
    """
    from transformers import AutoModelForQuestionAnswering, AutoTokenizer

    every = [example for path in train_files for example in read_squad(path)][:limit]
    examples, held = split_by_article(every, calibration, recipe.seed)
    if not any(example.answers for example in examples):
        raise TrainingError("No training question has an answer. Give a --train file with answerable questions.")
    evaluated = [example for path in eval_files for example in read_squad(path)]
    settings = {
        "init": init, "batch_size": batch_size, "max_length": max_length, "stride": stride, "negatives": negatives,
        "null_copies": null_copies, "titles": titles, "dropout": dropout, "frozen_layers": frozen_layers,
        "calibration": calibration, "limit": limit,
    }  # fmt: skip
    identity = _identity([*train_files, *([corpus] if corpus else [])], settings)
    model = load_for_training(AutoModelForQuestionAnswering, init, dropout=dropout)
    tokenizer = AutoTokenizer.from_pretrained(backbone_path(init))
    freeze(model, frozen_layers)
    miner = NegativeMiner(examples, _contexts(corpus) if corpus else ())

    def batches(epoch: int) -> list[list[Feature]]:
        chance = random.Random(f"{recipe.seed} {epoch}")
        shown = epoch_examples(examples, miner, chance, negatives=negatives, null_copies=null_copies, titles=titles)
        features = make_features(shown, tokenizer, max_length=max_length, stride=stride)
        groups = bucketed([len(feature.ids) for feature in features], batch_size, chance)
        return [[features[position] for position in group] for group in groups]

    def loss(batch: list[Feature]) -> Any:
        inputs = collate(batch, tokenizer.pad_token_id)
        fit_attention(model, inputs["input_ids"].shape[1])
        return model(**{name: tensor.to(model.device) for name, tensor in inputs.items()}).loss

    import torch

    if torch.cuda.is_available():
        model.cuda()
    train(model, batches, loss, recipe, out, identity=identity, save_every=save_every)
    report = {"recipe": asdict(recipe), "settings": settings} | write_and_measure(
        model, tokenizer, out, held, evaluated
    )
    write_text(out / "report.json", json.dumps(report, indent=2) + "\n")
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
    return report


def main(
    train_files: Annotated[list[Path], typer.Option("--train", help="SQuAD 2.0 file to train on; repeat for more.")],
    out: Annotated[Path, typer.Option(help="Folder for state, log, report and reader (model/, shipped/).")],
    eval_files: Annotated[
        list[Path] | None, typer.Option("--eval", help="SQuAD 2.0 file to report on; repeat for more.")
    ] = None,
    corpus: Annotated[
        Path | None, typer.Option(help="corpus.jsonl (id, title, text) to draw more negatives from.")
    ] = None,
    init: Annotated[
        str, typer.Option(help="What to start from: the embedded encoder, a folder or a hub name.")
    ] = EMBEDDED_BACKBONE,
    epochs: Annotated[int, typer.Option(help="Passes over the questions.")] = 4,
    rate: Annotated[float, typer.Option(help="Highest learning rate.")] = 2e-4,
    warmup: Annotated[float, typer.Option(help="Share of the run in which the rate rises.")] = 0.06,
    batch_size: Annotated[int, typer.Option(help="Windows per step.")] = 32,
    max_length: Annotated[int, typer.Option(help="Tokens per window.")] = 256,
    stride: Annotated[int, typer.Option(help="Tokens that neighbouring windows share.")] = 96,
    negatives: Annotated[float, typer.Option(help="Hard negatives per answerable question, 0 to 1.")] = 0.5,
    null_copies: Annotated[int, typer.Option(help="How often a question without an answer is shown.")] = 2,
    titles: Annotated[float, typer.Option(help="Share of the contexts with their title in front.")] = 0.25,
    dropout: Annotated[float, typer.Option(help="Share of hidden features that is dropped.")] = 0.1,
    frozen_layers: Annotated[
        int, typer.Option(help="Lower layers, with the embeddings, that are left as they are; 0: train all.")
    ] = 0,
    calibration: Annotated[
        float, typer.Option(help="Share of the questions that the null threshold is chosen on.")
    ] = 0.015,
    limit: Annotated[int | None, typer.Option(help="Only so many training questions, for a trial.")] = None,
    threads: Annotated[int | None, typer.Option(help="CPU threads; by default PyTorch's own choice.")] = None,
    save_every: Annotated[int, typer.Option(help="Steps between checkpoints.")] = 200,
    seed: Annotated[int, typer.Option(help="For everything that is drawn.")] = 0,
    bfloat16: Annotated[bool, typer.Option(help="Multiply in bfloat16.")] = True,
) -> None:
    """Train a span reader with a null answer; the same command again goes on after a kill."""
    import torch

    if threads is not None:
        torch.set_num_threads(threads)
    recipe = Recipe(epochs=epochs, peak=rate, warmup=warmup, seed=seed, bfloat16=bfloat16)
    try:
        report = run(
            train_files, eval_files or [], out, recipe, init=init, corpus=corpus, batch_size=batch_size,
            max_length=max_length, stride=stride, negatives=negatives, null_copies=null_copies, titles=titles,
            dropout=dropout, frozen_layers=frozen_layers, calibration=calibration, limit=limit, save_every=save_every,
        )  # fmt: skip
    except TrainingError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)
    command = ["python", "-m", "polyqa.training.train_reader", *sys.argv[1:]]
    write_text(out / "shipped" / "README.md", reader_card(report, out, command))
    draw_curve(out / "polyqa.training.jsonl", out / "shipped" / "curve.svg", "Span reader")
    typer.echo(json.dumps(report, indent=2))


if __name__ == "__main__":
    typer.run(main)
