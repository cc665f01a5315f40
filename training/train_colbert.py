"""Trains the ColBERT checkpoint: ``python -m polyqa.training.train_colbert --help``.

Late interaction (MaxSim) with in-batch and mined hard negatives, and distillation: the student's ranking of
a batch is drawn towards that of the sentence encoder, which was trained on a billion pairs and knows more
about what is near than a few thousand questions can tell, and its ranking of a question's own passages
towards what a span reader finds in them. A run that is killed goes on where it was when the
same command is given again.
"""

import hashlib
import json
import random
import sys
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from polyqa.embedded_models.compact import COMPACT_FILE
from polyqa.embedded_models.encoder import Encoder
from polyqa.embedded_models.reader import Reader

from .backbone import EMBEDDED_BACKBONE
from .card import colbert_card
from .coverage import make_pools, measure
from .curve import draw_curve
from .errors import TrainingError
from .files import read_lines, write_text
from .late_interaction import LateInteraction, Markers, maxsim
from .loop import Recipe, train
from .mining import Query, mine_pairs, mine_paragraphs, mine_questions, nearest
from .questions import Asked, read_questions, without_held_out, without_repeats
from .squad import read_squad
from .teaching import Grading, grade
from .text import holds_answer

_TEACHER_SCALE = 20.0  # all-MiniLM-L6-v2 was trained with cosine × 20 in its softmax


@dataclass(frozen=True, slots=True)
class Graded:
    """Some documents of a batch with their grades for one of its queries."""

    row: int
    columns: tuple[int, ...]
    grades: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One batch: queries, documents (query i's positive is document i), pairs that say nothing, and grades."""

    queries: tuple[str, ...]
    documents: tuple[str, ...]
    unsure: tuple[tuple[int, int], ...]
    graded: tuple[Graded, ...] = ()


def epoch_steps(queries: Sequence[Query], batch_size: int, chance: random.Random, list_size: int = 8) -> list[Step]:
    """Return the batches of one epoch: per query one positive and one hard negative, drawn anew.

    A graded query brings ``list_size`` of its documents, so fewer of them share a batch. A document of another
    query that holds one of a query's answers is neither positive nor negative: such pairs are left out of
    the loss.
    """
    steps = []
    for source, graded in sorted({(query.source, bool(query.grades)) for query in queries}):
        own = [query for query in queries if (query.source, bool(query.grades)) == (source, graded)]
        size = max(2, 2 * batch_size // list_size) if graded else batch_size
        chance.shuffle(own)
        for begin in range(0, len(own) - len(own) % size or len(own), size):
            steps.append(_step(own[begin : begin + size], chance, list_size))
    chance.shuffle(steps)
    return steps


def _step(queries: Sequence[Query], chance: random.Random, list_size: int) -> Step:
    first = [_early(query.positives, chance) for query in queries]
    documents = list(first)
    graded = []
    for row, query in enumerate(queries):
        texts = (*query.positives, *query.negatives)
        if not query.grades:
            documents += [_early(query.negatives, chance)] if query.negatives else []
            continue
        others = [place for place, text in enumerate(texts) if text != first[row]]
        chosen = chance.sample(others, min(len(others), list_size - 1))
        columns = (row, *range(len(documents), len(documents) + len(chosen)))
        documents += [texts[place] for place in chosen]
        graded.append(Graded(row, columns, tuple(query.grades[p] for p in (texts.index(first[row]), *chosen))))
    unsure = tuple(
        (row, column)
        for row, query in enumerate(queries)
        for column, text in enumerate(documents)
        if column != row and (text == first[row] or text in query.positives or holds_answer(query.answers, text))
    )
    return Step(tuple(query.question for query in queries), tuple(documents), unsure, tuple(graded))


def _early(texts: Sequence[str], chance: random.Random) -> str:
    # The first are the nearest: the surest positives and the hardest negatives.
    return texts[min(chance.randrange(len(texts)), chance.randrange(len(texts)))]


class Teacher:
    """The sentence encoder's similarities; vectors that are there already are not made again.

    Parameters
    ----------
    encoder
        Encodes what is not in ``texts``.
    texts, vectors
        What is known, a vector per text.
    """

    def __init__(self, encoder: Encoder, texts: Sequence[str] = (), vectors: NDArray[np.float32] | None = None) -> None:
        self._encoder = encoder
        self._known = dict(zip(texts, vectors, strict=True)) if vectors is not None else {}

    def similarity(self, queries: Sequence[str], documents: Sequence[str]) -> NDArray[np.float32]:
        """Return the cosines, shape (queries, documents)."""
        unknown = list(dict.fromkeys(text for text in documents if text not in self._known))
        fresh = dict(zip(unknown, self._encoder.encode(unknown), strict=True)) if unknown else {}
        rows = np.stack([fresh[text] if text in fresh else self._known[text] for text in documents])
        return self._encoder.encode(queries) @ rows.T


def step_loss(model: LateInteraction, step: Step, teacher: Teacher, distill: float) -> Any:
    """Return cross entropy over the batch's documents plus the divergences from the teachers' rankings.

    The encoder ranks all documents of the batch, weighted by ``distill``; grades rank each query's own.
    """
    import torch

    queries = model.vectors(model.query_tokens(step.queries))
    documents, counted = model.document_vectors(step.documents)
    with torch.autocast(queries.device.type, enabled=False):
        scores = maxsim(queries, documents, counted)
        if step.unsure:
            rows, columns = zip(*step.unsure, strict=True)
            barred = torch.zeros_like(scores, dtype=torch.bool)
            barred[list(rows), list(columns)] = True
            known = scores.masked_fill(barred, -1e4)
        else:
            known = scores
        loss = torch.nn.functional.cross_entropy(known, torch.arange(len(step.queries), device=scores.device))
        if distill:
            wanted = torch.from_numpy(teacher.similarity(step.queries, step.documents)).to(scores.device)
            target = torch.softmax(_TEACHER_SCALE * wanted, dim=1)
            loss = loss + distill * torch.nn.functional.kl_div(
                torch.log_softmax(scores, dim=1), target, reduction="batchmean"
            )
        for one in step.graded:
            own = torch.log_softmax(scores[one.row, list(one.columns)], dim=0)
            target = torch.softmax(torch.tensor(one.grades, device=scores.device), dim=0)
            loss = loss + torch.nn.functional.kl_div(own, target, reduction="sum") / len(step.graded)
    return loss


def held_out_items(questions: Sequence[Asked], source: str, count: int) -> set[str]:
    """Return the ids of the items, of those from ``source``, that are kept for tuning: always the same."""
    roots = sorted({asked.root for asked in questions if asked.source == source}, key=lambda r: zlib.crc32(r.encode()))
    return set(roots[:count])


def _vectors(path: Path | None, texts: Sequence[str], encoder: Encoder) -> NDArray[np.float32]:
    if path is None:
        return encoder.encode(texts)
    vectors = np.load(path).astype(np.float32)
    if vectors.ndim != 2 or len(vectors) != len(texts):
        raise TrainingError(
            f"{path} has shape {vectors.shape}, but the corpus has {len(texts)} passages. Give the vectors.npy of an "
            "index over this very corpus, or leave --corpus-vectors out."
        )
    return vectors


def run(
    out: Path,
    recipe: Recipe,
    *,
    corpus: Path,
    question_files: Sequence[Path],
    held_out_files: Sequence[Path],
    paragraph_files: Sequence[Path] = (),
    pair_files: Sequence[Path] = (),
    corpus_vectors: Path | None = None,
    init: str = EMBEDDED_BACKBONE,
    augment: bool = False,
    frozen_layers: int = 2,
    batch_size: int = 24,
    distill: float = 1.0,
    dropout: float = 0.05,
    tune_source: str = "qa_feedback_dev",
    tune_items: int = 150,
    paragraphs: int | None = None,
    pairs: int | None = None,
    most_questions: int | None = None,
    reader: str | None = None,
    list_size: int = 8,
    save_every: int = 100,
) -> dict[str, Any]:
    """Train and measure on held-out training questions; return the report, also in ``report.json``.

    Parameters
    ----------
    out
        Takes the state, the log, the report, the checkpoint for colbert-ai (``checkpoint``) and what was
        trained of it as int8, with card and curve (``shipped``).
    held_out_files
        Questions that no training question may share words with.
    tune_source, tune_items
        So many items of that source are not trained on; the report is over them.
    paragraphs, pairs, most_questions
        At most so many queries of these kinds, drawn.
    reader
        Grades the passages of the questions (see `polyqa.training.teaching`); ``None`` leaves them ungraded.

    The other parameters are the command's options.
    """
    rows = list(read_lines(corpus, "id", "text"))
    passages = [" ".join(f"{row.get('title') or ''} {row['text']}".split()) for row in rows]
    held = [asked for path in held_out_files for asked in read_questions(path)]
    asked = without_repeats(without_held_out([one for path in question_files for one in read_questions(path)], held))
    tuning = held_out_items(asked, tune_source, tune_items)
    encoder = Encoder()
    vectors = _vectors(corpus_vectors, passages, encoder)
    near = nearest(encoder.encode([one.question for one in asked]), vectors, 50)
    training = [place for place, one in enumerate(asked) if one.root not in tuning]
    queries = mine_questions([asked[place] for place in training], passages, near[training])
    chance = random.Random(recipe.seed)
    if most_questions is not None:
        queries = chance.sample(queries, min(len(queries), most_questions))
    if reader is not None:
        queries = grade(queries, encoder, Reader(reader, precision="auto"), Grading(), out / "grades.json")
    if paragraph_files:
        mined = mine_paragraphs(example for path in paragraph_files for example in read_squad(path))
        queries += chance.sample(mined, min(len(mined), paragraphs or len(mined)))
    if pair_files:
        found = [
            (row["question"], row["passage"]) for path in pair_files for row in read_lines(path, "question", "passage")
        ]
        mined = mine_pairs(found)
        queries += chance.sample(mined, min(len(mined), pairs or len(mined)))
    if not queries:
        raise TrainingError("No question found a passage with its answer. Give questions that the corpus answers.")
    model = LateInteraction(init, Markers(augment=augment), dropout=dropout, frozen_layers=frozen_layers)
    pools = make_pools([one for one in asked if one.root in tuning], asked, near, passages, depth=20)
    before = measure(model, pools)
    settings = {
        "init": init, "augment": augment, "frozen_layers": frozen_layers, "batch_size": batch_size, "distill": distill,
        "dropout": dropout, "tune_items": tune_items, "paragraphs": paragraphs, "pairs": pairs,
        "most_questions": most_questions, "reader": Path(reader).name if reader else None, "list_size": list_size,
    }  # fmt: skip
    identity = hashlib.sha256(json.dumps([settings, [asdict(query) for query in queries]]).encode()).hexdigest()[:16]

    import torch

    if torch.cuda.is_available():
        model.module.cuda()
    teacher = Teacher(encoder, passages, vectors)
    train(
        model.module,
        lambda epoch: epoch_steps(queries, batch_size, random.Random(f"{recipe.seed} {epoch}"), list_size),
        lambda step: step_loss(model, step, teacher, distill),
        recipe,
        out,
        identity=identity,
        save_every=save_every,
    )
    after = measure(model, pools)
    model.write_trained(out / "shipped" / COMPACT_FILE)
    model.round_trained()
    model.write(out / "checkpoint")
    report = {
        "recipe": asdict(recipe),
        "settings": settings,
        "queries": {
            source: sum(query.source == source for query in queries) for source in sorted({q.source for q in queries})
        },
        "before": asdict(before),
        "after": asdict(after),
        "after_int8": asdict(measure(model, pools)),
    }
    write_text(out / "report.json", json.dumps(report, indent=2) + "\n")
    return report


def main(
    out: Annotated[Path, typer.Option(help="Folder for state, log, report, checkpoint/ and shipped/.")],
    corpus: Annotated[Path, typer.Option(help="corpus.jsonl: id, title, text.")],
    questions: Annotated[list[Path], typer.Option(help="ASQA or AmbigNQ training file; repeat for more.")],
    held_out: Annotated[list[Path], typer.Option(help="Questions that are measured on; repeat for more.")],
    paragraphs: Annotated[list[Path] | None, typer.Option(help="SQuAD file: questions with their paragraph.")] = None,
    pairs: Annotated[list[Path] | None, typer.Option(help="JSONL: question, passage.")] = None,
    corpus_vectors: Annotated[
        Path | None, typer.Option(help="The encoder's vectors of the corpus (an index's vectors.npy): saves minutes.")
    ] = None,
    init: Annotated[
        str, typer.Option(help="The embedded encoder, or a ColBERT checkpoint's folder.")
    ] = EMBEDDED_BACKBONE,
    augment: Annotated[bool, typer.Option(help="Fill queries up with [MASK] vectors.")] = False,
    frozen_layers: Annotated[int, typer.Option(help="Lower layers that are left as they are.")] = 2,
    epochs: Annotated[int, typer.Option(help="Passes over the queries.")] = 2,
    rate: Annotated[float, typer.Option(help="Highest learning rate.")] = 5e-5,
    batch_size: Annotated[int, typer.Option(help="Queries per step; each brings two documents.")] = 24,
    distill: Annotated[float, typer.Option(help="Weight of the divergence from the sentence encoder's ranking.")] = 1.0,
    dropout: Annotated[float, typer.Option(help="Share of hidden features that is dropped.")] = 0.05,
    tune_items: Annotated[int, typer.Option(help="Training items kept out, to report on.")] = 150,
    most_paragraphs: Annotated[int | None, typer.Option(help="At most so many paragraph queries.")] = None,
    most_pairs: Annotated[int | None, typer.Option(help="At most so many pair queries.")] = None,
    most_questions: Annotated[int | None, typer.Option(help="At most so many questions and readings.")] = None,
    reader: Annotated[
        str | None, typer.Option(help="Span reader that grades the questions' passages, by name or path.")
    ] = None,
    list_size: Annotated[int, typer.Option(min=2, help="Documents per graded question in a batch.")] = 8,
    threads: Annotated[int | None, typer.Option(help="CPU threads; by default PyTorch's own choice.")] = None,
    save_every: Annotated[int, typer.Option(help="Steps between checkpoints.")] = 100,
    seed: Annotated[int, typer.Option(help="For everything that is drawn.")] = 0,
    bfloat16: Annotated[bool, typer.Option(help="Multiply in bfloat16.")] = True,
) -> None:
    """Train a ColBERT checkpoint; the same command again goes on after a kill."""
    import torch

    if threads is not None:
        torch.set_num_threads(threads)
    try:
        report = run(
            out, Recipe(epochs=epochs, peak=rate, seed=seed, bfloat16=bfloat16), corpus=corpus,
            question_files=questions, held_out_files=held_out, paragraph_files=paragraphs or (),
            pair_files=pairs or (), corpus_vectors=corpus_vectors, init=init, augment=augment,
            frozen_layers=frozen_layers, batch_size=batch_size, distill=distill, dropout=dropout,
            tune_items=tune_items, paragraphs=most_paragraphs, pairs=most_pairs, most_questions=most_questions,
            reader=reader, list_size=list_size, save_every=save_every,
        )  # fmt: skip
    except TrainingError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)
    command = ["python", "-m", "polyqa.training.train_colbert", *sys.argv[1:]]
    write_text(out / "shipped" / "README.md", colbert_card(report, out / "shipped" / COMPACT_FILE, command))
    draw_curve(out / "polyqa.training.jsonl", out / "shipped" / "curve.svg", "ColBERT")
    typer.echo(json.dumps(report, indent=2))


if __name__ == "__main__":
    typer.run(main)
