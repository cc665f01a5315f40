"""Fits how sure a reading is, and from where on an answer is told: right, wrong, told and not told.

python -m lab.confidence collect --data ../shared/data --out runs/confidence.jsonl
python -m lab.confidence fit runs/confidence.jsonl [--json lab/results/confidence.json] [--plot docs/…/risk.svg]

`collect` asks `rac` over five small corpora (see `lab.unanswerable`); the same command goes on. `fit` fits the weights
by leaving each corpus out in turn, and tables what that gives on the one left out.
"""

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from polyqa.base.values import Passage
from polyqa.confidence import signs
from polyqa.metrics.agreement import agree

from .unanswerable import Asked, Corpus, corpora

app = typer.Typer(add_completion=False)


@app.callback()
def commands() -> None:
    """Fit how sure a reading is."""


class Everything:
    """Finds all passages of a corpus that is so small that the reranker can read all of it."""

    def __init__(self, passages: tuple[Passage, ...]) -> None:
        self.passages = passages

    def search(self, query: str, k: int = 10) -> list[Passage]:
        """Return all passages."""
        return list(self.passages)

    def search_many(self, queries: list[str], k: int = 10) -> list[list[Passage]]:
        """Return all passages for each query."""
        return [self.search(query, k) for query in queries]


@app.command()
def collect(
    data: Annotated[Path, typer.Option(help="The folder of the data sets.")],
    out: Annotated[Path, typer.Option(help="File of lines; those that are there already are kept.")],
    program: Annotated[str, typer.Option(help="What is asked.")] = "rac",
    count: Annotated[int, typer.Option(help="Answerable questions of each corpus.")] = 40,
    seed: Annotated[int, typer.Option(help="Of what is drawn.")] = 0,
    seconds: Annotated[float, typer.Option(help="After which it stops; the same command goes on.")] = 1e9,
) -> None:
    """Ask a program, and keep the signs of each reading and whether it is right."""
    import dspy

    from polyqa.colbert_index import BiEncoderReranker
    from polyqa.language_models import language_model, shared_encoder, shared_reader
    from polyqa.loading import load

    began = time.monotonic()
    asker, reader, lm = load(program), shared_reader(), language_model()
    asker.source_reader = None
    done = {(one["corpus"], one["question"]) for one in map(json.loads, out.open())} if out.exists() else set()
    every = corpora(data, count=count, seed=seed)
    turns = [
        (corpus, asked)
        for at in range(max(len(one.asked) for one in every))
        for corpus in every
        for asked in corpus.asked[at : at + 1]
    ]
    with out.open("a") as lines, dspy.context(lm=lm):
        for corpus, asked in turns:
            if (corpus.name, asked.question) in done:
                continue
            if time.monotonic() - began > seconds:
                break
            asker.retriever, asker.reranker = Everything(corpus.passages), BiEncoderReranker(shared_encoder())
            prediction = asker(question=asked.question)
            lines.write(json.dumps(_line(corpus, asked, prediction, reader), ensure_ascii=False) + "\n")
            lines.flush()


def _line(corpus: Corpus, asked: Asked, prediction: Any, reader: Any) -> dict[str, Any]:
    readings, passages = prediction.interpretations, prediction.passages
    scores = {one.pid: (one.score, rank) for rank, one in enumerate(passages)}
    texts = {one.pid: one for one in passages}
    return {
        "corpus": corpus.name,
        "kind": asked.kind,
        "question": asked.question,
        "answers": asked.answers,
        "readings": [
            {
                "question": reading.question,
                "answer": reading.answer,
                "right": bool(asked.answers) and agree(reading.answer, asked.answers),
                "score": scores.get(reading.pid, (0, 9))[0],
                "rank": scores.get(reading.pid, (0, 9))[1],
                "title": texts[reading.pid].title if reading.pid in texts else "",
                "text": texts[reading.pid].text if reading.pid in texts else "",
                **(asdict(sign) if sign else {}),
            }
            for reading, sign in zip(readings, signs(asked.question, readings, passages, reader), strict=True)
        ],
        "top": [one.score for one in passages[:2]],
    }


if __name__ == "__main__":
    app()
