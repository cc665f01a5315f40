"""How long finding the nearest centroids of token vectors takes, as they become more: by colbert-ai and by polyqa.

python -m lab.centroids corpus.jsonl [--counts 16384,65536,524288] [--vectors 20000] [--json FILE]

Token vectors of the corpus stand for centroids, and others are looked for, all on one core.
"""

import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from polyqa.base.errors import PolyqaError
from polyqa.colbert_index import IndexSettings, read_corpus
from polyqa.colbert_index.checkpoint import embedded_checkpoint
from polyqa.colbert_index.compressing import centroid_index
from polyqa.colbert_index.engine import encode_documents, load_checkpoint
from polyqa.evaluation.tables import markdown_table

from .results import Part, keep, today

_TOKENS = 100  # of a passage, about
_BATCH = 1_000
Vectors = NDArray[np.float32]


class Found(Part):
    """A way to find them.

    Attributes
    ----------
    centroids
        How many.
    how
        What finds the nearest.
    milliseconds
        For a passage of as many tokens as the corpus's have.
    nearest
        Share of the vectors whose nearest centroid is found.
    """

    centroids: int
    how: str
    milliseconds: float
    nearest: float


class Finding(Part):
    """A measurement, with the command that repeats it; ``tokens`` are those of a passage."""

    command: str
    date: str
    corpus: str
    vectors: int
    tokens: float
    processor: str
    found: list[Found]

    def table(self) -> str:
        """Return the rows as a table in Markdown."""
        heads = ["centroids", "found by", "ms a passage", "passages/s", "the nearest"]
        rows = [
            [
                f"{one.centroids:,}",
                one.how,
                f"{one.milliseconds:.1f}",
                f"{1_000 / one.milliseconds:,.0f}",
                f"{100 * one.nearest:.1f}%",
            ]
            for one in self.found
        ]
        return markdown_table(heads, rows)


def _multiplied(centroids: Vectors, vectors: Vectors) -> NDArray[np.int64]:
    """Find them as colbert-ai does."""
    import torch

    known = torch.from_numpy(centroids)
    batches = torch.from_numpy(vectors).split(max(1, (1 << 29) // len(centroids)))
    return torch.cat([(known @ batch.T).max(dim=0).indices for batch in batches]).numpy()


def _timed(function: Callable[[Vectors], NDArray[np.int64]], vectors: Vectors) -> tuple[float, NDArray[np.int64]]:
    begun = time.perf_counter()
    found = [function(vectors[at : at + _BATCH]) for at in range(0, len(vectors), _BATCH)]
    return time.perf_counter() - begun, np.concatenate(found)


def _encoded(corpus: Path, wanted: int) -> tuple[Vectors, float]:
    """Return so many token vectors of a corpus, and how many a passage has."""
    texts = [one.indexed_text for one in read_corpus(corpus)[: wanted // _TOKENS + 500]]
    model = load_checkpoint(embedded_checkpoint(), IndexSettings())
    with typer.progressbar(length=len(texts), label="encoding") as bar:
        vectors, lengths = encode_documents(model, texts, bar.update)
    if len(vectors) < wanted:
        raise PolyqaError(f"{corpus} has {len(vectors):,} token vectors here, and {wanted:,} are needed.")
    return vectors[:wanted].float().numpy(), len(vectors) / len(lengths)


def main(
    corpus: Annotated[Path, typer.Argument(help="As for polyqa index build.")],
    counts: Annotated[str, typer.Option(help="Of centroids, with commas between.")] = "16384,65536,524288",
    vectors: Annotated[int, typer.Option(min=100, help="How many are looked for.")] = 20_000,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the table as JSON.")] = None,
) -> None:
    """Time finding centroids."""
    import faiss
    import torch

    sizes = [int(one) for one in counts.split(",")]
    every, tokens = _encoded(corpus, max(sizes) + vectors)
    order = np.random.default_rng(0).permutation(len(every))
    asked, rest = every[order[:vectors]], every[order[vectors:]]
    torch.set_num_threads(1)
    faiss.omp_set_num_threads(1)
    found: list[Found] = []
    for count in sizes:
        centroids = np.ascontiguousarray(rest[:count])
        finder = centroid_index(*centroids.shape)
        finder.train(centroids)
        finder.add(centroids)
        ways: dict[str, Any] = {
            "colbert-ai": lambda some, centroids=centroids: _multiplied(centroids, some),
            "polyqa": lambda some, finder=finder: finder.search(some, 1)[1][:, 0],
        }
        exact: NDArray[np.int64] | None = None
        for how, function in ways.items():
            seconds, numbers = _timed(function, asked)
            exact = numbers if exact is None else exact
            milliseconds = 1_000 * seconds / vectors * tokens
            found.append(
                Found(
                    centroids=count,
                    how=how,
                    milliseconds=round(milliseconds, 2),
                    nearest=round(float((numbers == exact).mean()), 4),
                )
            )
            typer.echo(f"{count:,} centroids, {how}: {milliseconds:.1f} ms", err=True)
    source = corpus.name
    measured = Finding(
        command=f"python -m lab.centroids {source} --counts {counts} --vectors {vectors}",
        date=today(),
        corpus=source,
        vectors=vectors,
        tokens=round(tokens, 1),
        processor=platform.processor() or platform.machine(),
        found=found,
    )
    typer.echo(measured.table())
    keep(measured, json_file)


if __name__ == "__main__":
    typer.run(main)
