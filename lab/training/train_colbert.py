"""Trains the ColBERT checkpoint: ``python -m lab.training.train_colbert --help``.

What a batch is and what it loses is in `batches`; a span reader may grade passages first (`teaching`). A run that is
killed goes on where it was when the same command is given again.
"""

import random
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from polyqa.base.errors import PolyqaError
from polyqa.colbert_index import read_corpus
from polyqa.models.compact import COMPACT_FILE
from polyqa.models.encoder import EMBEDDED_ENCODER, Encoder
from polyqa.models.reader import Reader

from . import commands
from .batches import epoch_steps, step_loss
from .card import colbert_card
from .coverage import Pool, make_pools, measure
from .late_interaction import LateInteraction, Markers
from .loop import Schedule, train
from .mining import Query, mine_pairs, mine_paragraphs, mine_questions, nearest
from .questions import Asked, drawn, read_pairs, read_questions, without_repeats
from .squad import read_squad
from .teaching import Grading, grade


@dataclass(frozen=True)
class Data:
    """What is trained and measured on.

    Attributes
    ----------
    corpus
        What `read_corpus` reads.
    questions, held_out
        Files of open questions, and of those that no training question may share words with.
    paragraphs, pairs
        SQuAD files, and files of questions with the sentence that answers each.
    corpus_vectors
        The encoder's vectors of the corpus, an index's ``vectors.npy``; encoded here if not given.
    tune_items
        So many ambiguous questions of the first file are not trained on; the report is over them.
    most_questions, most_paragraphs, most_pairs
        At most so many queries of a kind, drawn.
    """

    corpus: Path
    questions: Sequence[Path]
    held_out: Sequence[Path]
    paragraphs: Sequence[Path] = ()
    pairs: Sequence[Path] = ()
    corpus_vectors: Path | None = None
    tune_items: int = 150
    most_questions: int | None = None
    most_paragraphs: int | None = None
    most_pairs: int | None = None


@dataclass(frozen=True)
class Setup:
    """What is trained, and on which batches.

    Attributes
    ----------
    init
        The embedded encoder, or a ColBERT checkpoint's folder.
    augment
        Whether queries are filled up with ``[MASK]`` vectors.
    frozen_layers
        Lower layers that are left as they are; the embeddings always are.
    dropout
        Share of hidden features that is dropped.
    batch_size
        Queries per step; each brings two documents.
    distill
        Weight of the divergence from the sentence encoder's ranking.
    reader
        Name or path of the span reader that grades the questions' passages; ``None`` leaves them ungraded.
    list_size
        Documents per graded question in a batch.
    """

    init: str = EMBEDDED_ENCODER
    augment: bool = False
    frozen_layers: int = 2
    dropout: float = 0.05
    batch_size: int = 24
    distill: float = 1.0
    reader: str | None = None
    list_size: int = 8


def run(data: Data, setup: Setup, schedule: Schedule, out: Path, *, save_every: int = 100) -> dict[str, Any]:
    """Train and measure on held-out training questions; return the report, also in ``report.json``.

    Parameters
    ----------
    out
        Takes the state, the log, the report, the checkpoint for colbert-ai (``checkpoint``) and what was
        trained of it as int8, with card and curve (``shipped``).
    save_every
        Steps between checkpoints of the run.

    Raises
    ------
    PolyqaError
        If a file is faulty, no question finds a passage, or ``out`` holds another run.
    """
    import torch

    encoder = Encoder()
    queries, pools = _prepare(data, setup, encoder, schedule.seed, out / "grades.json")
    markers = Markers(augment=setup.augment)
    model = LateInteraction(setup.init, markers, dropout=setup.dropout, frozen_layers=setup.frozen_layers)
    report: dict[str, Any] = {
        "schedule": asdict(schedule),
        "settings": asdict(setup)
        | {"reader": Path(setup.reader).name if setup.reader else None, "tune_items": data.tune_items},
        "queries": dict(sorted(Counter(query.source for query in queries).items())),
        "before": asdict(measure(model, pools)),
    }
    if torch.cuda.is_available():
        model.module.cuda()
    train(
        model.module,
        lambda epoch: epoch_steps(
            queries, setup.batch_size, random.Random(f"{schedule.seed} {epoch}"), setup.list_size
        ),
        lambda step: step_loss(model, step, encoder, setup.distill),
        schedule,
        out,
        identity=[asdict(setup), [asdict(query) for query in queries]],
        save_every=save_every,
    )
    report["after"] = asdict(measure(model, pools))
    model.write_trained(out / "shipped" / COMPACT_FILE)
    model.round_trained()
    model.write(out / "checkpoint")
    report["after_int8"] = asdict(measure(model, pools))
    commands.write_report(report, out)
    return report


def _prepare(data: Data, setup: Setup, encoder: Encoder, seed: int, grades: Path) -> tuple[list[Query], list[Pool]]:
    """Return the queries to train on and the pools to measure on."""
    passages = [passage.indexed_text for passage in read_corpus(data.corpus)]
    asked = without_repeats(read_questions(data.questions, data.held_out))
    kept_out = held_out_items(read_questions(data.questions[:1], data.held_out), data.tune_items)
    if data.corpus_vectors is not None:
        encoder.remember(passages, _stored_vectors(data.corpus_vectors, len(passages)))
    near = nearest(encoder.encode([one.question for one in asked]), encoder.encode(passages), 50)
    tuning = np.array([one.root in kept_out for one in asked])
    queries = mine_questions([one for one in asked if one.root not in kept_out], passages, near[~tuning])
    queries = drawn(queries, data.most_questions, seed)
    if setup.reader is not None:
        queries = grade(queries, encoder, Reader(setup.reader, precision="auto"), Grading(), grades)
    if data.paragraphs:
        mined = mine_paragraphs(example for path in data.paragraphs for example in read_squad(path))
        queries += drawn(mined, data.most_paragraphs, seed)
    if data.pairs:
        mined = mine_pairs([pair for path in data.pairs for pair in read_pairs(path)])
        queries += drawn(mined, data.most_pairs, seed)
    if not queries:
        raise PolyqaError("No question found a passage with its answer. Give questions that the corpus answers.")
    return queries, make_pools([one for one in asked if one.root in kept_out], near[tuning], passages, depth=20)


def held_out_items(questions: Sequence[Asked], count: int) -> set[str]:
    """Return the ids of the ambiguous items that are kept for measuring: always the same."""
    roots = {asked.root for asked in questions if len(asked.answers) > 1}
    return set(sorted(roots, key=lambda root: zlib.crc32(root.encode()))[:count])


def _stored_vectors(path: Path, count: int) -> np.ndarray[Any, Any]:
    vectors = np.load(path)
    if vectors.ndim != 2 or len(vectors) != count:
        raise PolyqaError(
            f"{path} has shape {vectors.shape}, but the corpus has {count} passages. Give the vectors.npy of an "
            "index over this very corpus, or leave --corpus-vectors out."
        )
    return vectors


def main(
    out: Annotated[Path, typer.Option(help="Folder for state, log, report, checkpoint/ and shipped/.")],
    corpus: Annotated[Path, typer.Option(help="corpus.jsonl: id, title, text.")],
    questions: Annotated[list[Path], typer.Option(help="ASQA or AmbigNQ training file; repeat for more.")],
    held_out: commands.HeldOut,
    paragraphs: Annotated[list[Path] | None, typer.Option(help="SQuAD file: questions with their paragraph.")] = None,
    pairs: Annotated[list[Path] | None, typer.Option(help="JSONL: question, passage.")] = None,
    corpus_vectors: Annotated[
        Path | None, typer.Option(help="The encoder's vectors of the corpus (an index's vectors.npy): saves minutes.")
    ] = None,
    init: commands.Init = Setup.init,
    augment: Annotated[bool, typer.Option(help="Fill queries up with [MASK] vectors.")] = Setup.augment,
    frozen_layers: commands.FrozenLayers = Setup.frozen_layers,
    epochs: commands.Epochs = 2,
    rate: commands.Rate = 5e-5,
    batch_size: commands.BatchSize = Setup.batch_size,
    distill: Annotated[
        float, typer.Option(help="Weight of the divergence from the sentence encoder's ranking.")
    ] = Setup.distill,
    dropout: commands.Dropout = Setup.dropout,
    tune_items: Annotated[
        int, typer.Option(help="Ambiguous questions of the first file that are kept out, to report on.")
    ] = Data.tune_items,
    most_paragraphs: Annotated[int | None, typer.Option(help="At most so many paragraph queries.")] = None,
    most_pairs: Annotated[int | None, typer.Option(help="At most so many pair queries.")] = None,
    most_questions: Annotated[int | None, typer.Option(help="At most so many questions and readings.")] = None,
    reader: Annotated[
        str | None, typer.Option(help="Span reader that grades the questions' passages, by name or path.")
    ] = None,
    list_size: Annotated[int, typer.Option(min=2, help="Documents per graded question in a batch.")] = Setup.list_size,
    threads: commands.Threads = None,
    save_every: commands.SaveEvery = 100,
    seed: commands.Seed = 0,
    bfloat16: commands.BFloat16 = True,
) -> None:
    """Train a ColBERT checkpoint; the same command again goes on after a kill."""
    commands.use_threads(threads)
    data = Data(
        corpus, questions, held_out, paragraphs or (), pairs or (), corpus_vectors, tune_items,
        most_questions, most_paragraphs, most_pairs,
    )  # fmt: skip
    setup = Setup(init, augment, frozen_layers, dropout, batch_size, distill, reader, list_size)
    schedule = Schedule(epochs=epochs, peak=rate, seed=seed, bfloat16=bfloat16)
    report = run(data, setup, schedule, out, save_every=save_every)
    card = colbert_card(report, out, commands.command_line("train_colbert"))
    commands.finish(report, out, card, "ColBERT")


if __name__ == "__main__":
    commands.run_command(lambda: typer.run(main))
