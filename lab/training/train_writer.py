"""Trains the writer of questions: ``python -m lab.training.train_writer --help``.

It learns two things at once: the question that a passage answers with a given answer (from files of SQuAD's format),
and the reading of an ambiguous question that it settles, in that question's words (from ASQA and the like). A run that
is killed goes on with its last epoch when the same command is given again.
"""

import random
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import torch
import typer
from torch import Tensor

from polyqa.base.errors import PolyqaError
from polyqa.colbert_index import read_corpus
from polyqa.evaluation.loading import load_questions
from polyqa.metrics.edit_f1 import question_edit_f1, question_tokens
from polyqa.metrics.token_f1 import token_f1
from polyqa.models.running import padded_rows
from polyqa.models.writer import Writer, padded, source_tokenizer
from polyqa.models.writer_network import Read, WriterNetwork
from polyqa.models.writing import LONGEST_WRITTEN, Source, ends, read_tasks

from . import commands
from .backbone import freeze, share_dropout, whole_folder
from .features import bucketed, stepped
from .loop import Schedule, train
from .squad import read_squad
from .weights import load_network, new_network, save_writer
from .writer_data import Lesson, alone, readings_of, titled_by_question, vocabulary_of


@dataclass(frozen=True)
class Data:
    """What is trained on."""

    paragraphs: Annotated[
        list[Path], typer.Option(help="SQuAD 2.0 file, questions written of a passage alone; repeat for more.")
    ] = field(default_factory=list)
    titled: Annotated[
        list[Path], typer.Option(help="SQuAD 2.0 file whose titles are ambiguous questions; repeat for more.")
    ] = field(default_factory=list)
    questions: Annotated[
        list[str], typer.Option(help="Ambiguous questions, as for polyqa evaluate; repeat for more.")
    ] = field(default_factory=list)
    corpus: Annotated[Path | None, typer.Option(help="corpus.jsonl with the passages that these name.")] = None
    held_out: Annotated[float, typer.Option(help="Share of articles and questions that is measured on.")] = 0.01

    def lessons(self) -> list[Lesson]:
        """Return all lessons, in the order of the files."""
        passages = {passage.pid: passage for passage in read_corpus(self.corpus)} if self.corpus else {}
        return [
            *(lesson for path in self.paragraphs for lesson in alone(read_squad(path))),
            *(lesson for path in self.titled for lesson in titled_by_question(read_squad(path))),
            *(lesson for source in self.questions for lesson in readings_of(load_questions(source), passages)),
        ]


@dataclass(frozen=True)
class Setup:
    """What is trained, and what an epoch shows."""

    init: Annotated[Path | None, typer.Option(help="A writer's folder to start from, not the encoder.")] = None
    words: Annotated[int, typer.Option(help="Word pieces that can be written without being copied.")] = 8000
    frozen_layers: Annotated[int, typer.Option(help="Lower layers, with the embeddings, that stay as they are.")] = 2
    batch_size: Annotated[int, typer.Option(min=1, help="Questions per step.")] = 48
    dropout: Annotated[float, typer.Option(help="Share of hidden features of the encoder that is dropped.")] = 0.1
    repeats: Annotated[int, typer.Option(help="How often a reading of an ambiguous question is shown.")] = 1


@dataclass(frozen=True, slots=True)
class Shown:
    """One lesson as tokens; ``target`` goes from the classification token to the end."""

    source: Source
    target: tuple[int, ...]


def split_by_group(lessons: Sequence[Lesson], share: float, seed: int) -> tuple[list[Lesson], list[Lesson]]:
    """Return (training, held-out) lessons without a group in both."""
    groups = sorted({lesson.group for lesson in lessons})
    held = set(random.Random(seed).sample(groups, round(share * len(groups))))
    return [one for one in lessons if one.group not in held], [one for one in lessons if one.group in held]


def shown(lessons: Sequence[Lesson], tokenizer: Any) -> list[Shown]:
    """Turn lessons into tokens."""
    start, end = ends(tokenizer)
    encoded = tokenizer.encode_batch([lesson.question for lesson in lessons], add_special_tokens=False)
    targets = [(start, *encoding.ids[: LONGEST_WRITTEN - 2], end) for encoding in encoded]
    return list(map(Shown, read_tasks([lesson.task for lesson in lessons], tokenizer), targets))


def likelihood(network: WriterNetwork, tokens: Tensor, read: Read) -> Tensor:
    """Return the logarithm of the probability of each token of padded questions after the first, (batch, length − 1).

    The questions, shape (batch, length), begin with the classification token, and have their end.
    """
    words, _ = network.decode(tokens[:, :-1], read)
    targets = tokens[:, 1:]
    at = network.places()[targets]
    written = words.written.gather(-1, at.clamp(min=0).unsqueeze(-1)).squeeze(-1) * (at >= 0)
    same = targets.unsqueeze(-1) == read.ids.unsqueeze(1)
    copied = (words.copied * same).sum(-1)
    return torch.log(written + copied + 1e-7)


def run(data: Data, setup: Setup, schedule: Schedule, out: Path) -> dict[str, Any]:
    """Train and measure; return the report, which is also written to ``report.json``.

    Parameters
    ----------
    out
        Takes the training state, the log, the report, and ``shipped``: the writer in int8 with card and curve.

    Raises
    ------
    PolyqaError
        If there is nothing to learn from, or ``out`` holds another run.
    """
    training, held = split_by_group(data.lessons(), data.held_out, schedule.seed)
    if not training:
        raise PolyqaError(
            "There is nothing to learn from. Give --paragraphs with answerable questions, or --questions."
        )
    tokenizer = source_tokenizer()
    known = shown(training, tokenizer)
    if setup.init is None:
        ids = vocabulary_of([one.target for one in known], setup.words, ends(tokenizer)[1:])
        network = new_network(torch.tensor(ids))
    else:
        network = load_network(setup.init)
    share_dropout(network.encoder, setup.dropout)
    freeze(network.encoder, setup.frozen_layers)
    network.to("cuda" if torch.cuda.is_available() else "cpu")
    order = [
        place for place, lesson in enumerate(training) for _ in range(setup.repeats if lesson.task.question else 1)
    ]

    def batches(chance: random.Random) -> list[list[Shown]]:
        groups = bucketed([len(known[place].source.ids) for place in order], setup.batch_size, chance)
        return [[known[order[position]] for position in group] for group in groups]

    def loss(batch: list[Shown]) -> Any:
        longest = stepped(max(len(one.source.ids) for one in batch))
        targets = padded_rows([one.target for one in batch], max(len(one.target) for one in batch))
        *read, targets = (
            tensor.to(network.bias.device) for tensor in (*padded([one.source for one in batch], longest), targets)
        )
        return -likelihood(network, targets, network.read(*read))[targets[:, 1:] != 0].mean()

    identity = [asdict(setup) | {"init": str(setup.init)}, [[asdict(one.task), one.question] for one in training]]
    train(network, batches, loss, schedule, out, identity=identity)
    report: dict[str, Any] = {"schedule": asdict(schedule), "settings": asdict(setup) | {"init": str(setup.init or "")}}
    with whole_folder(out / "shipped") as work:
        save_writer(network.cpu(), work)
    report |= {"lessons": len(training), **measured(Writer(str(out / "shipped")), held)}
    commands.write_report(report, out)
    return report


def measured(writer: Writer, lessons: Sequence[Lesson]) -> dict[str, Any]:
    """Return how near written questions are to people's, for lessons of either kind, and the questions per second.

    ``token_f1`` compares words, ``edit_f1`` (readings only) the changes to the ambiguous question.
    """
    report: dict[str, Any] = {}
    for kind in ("alone", "readings"):
        own = [lesson for lesson in lessons if bool(lesson.task.question) == (kind == "readings")]
        if not own:
            continue
        started = time.perf_counter()
        written = writer.write([lesson.task for lesson in own])
        seconds = time.perf_counter() - started
        pairs = [(one.question, lesson) for one, lesson in zip(written, own, strict=True)]
        report[kind] = {
            "n": len(own),
            "token_f1": 100 * fmean(token_f1(made, (one.question,)) for made, one in pairs),
            "questions_per_second": len(own) / seconds,
        }
        if kind == "readings":
            texts = ((one.task.question, made, one.question) for made, one in pairs)
            report[kind]["edit_f1"] = 100 * fmean(question_edit_f1(*map(question_tokens, three)) for three in texts)
    return report


if __name__ == "__main__":
    commands.run_trainer(run, "Writer of questions", Data(), Setup(), Schedule(rate=4e-4))
