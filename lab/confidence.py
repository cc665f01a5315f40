"""Fits how sure a reading is, and from where on an answer is told; tables what is right, wrong and not told.

python -m lab.confidence collect --data ../shared/data --out runs/confidence.jsonl
python -m lab.confidence fit runs/confidence.jsonl [--json lab/results/confidence.json] [--plot docs/risk_coverage.svg]

`collect` asks `rac` over five small corpora (see `lab.corpora`); the same command goes on. `fit` fits the weights
by leaving each corpus out in turn, and tables what that gives on the one left out.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import dspy
import numpy as np
import typer
from numpy.typing import NDArray

from polyqa.colbert_index import BiEncoderReranker
from polyqa.confidence import WEIGHTS, signs
from polyqa.extractive import MODEL_NAME
from polyqa.language_models import language_model, shared_encoder, shared_reader
from polyqa.loading import load
from polyqa.metrics.agreement import agree
from polyqa.models import SpanReader
from polyqa.reports.plots import BLUE, GREY, ORANGE, new_figure, save_figure

from .corpora import WRITTEN, Asked, Corpus, corpora
from .results import JsonFile, Program, Seed, Table, report

app = typer.Typer(add_completion=False)
FEATURES = tuple(WEIGHTS)


@app.callback()
def commands() -> None:
    """Fit how sure a reading is."""


@app.command()
def collect(
    data: Annotated[Path, typer.Option(help="The folder of the data sets.")],
    out: Annotated[Path, typer.Option(help="File of lines; those that are there already are kept.")],
    program: Program = "rac",
    count: Annotated[int, typer.Option(help="Answerable questions of each corpus.")] = 40,
    seed: Seed = 0,
    lm: Annotated[str, typer.Option(help="Language model.")] = MODEL_NAME,
    record: Annotated[Path | None, typer.Option(help="File of its replies, which are asked for once.")] = None,
) -> None:
    """Ask a program, and keep the signs of each reading and whether it is right; the same command goes on."""
    asker, reader = load(program), shared_reader()
    model = language_model(lm, record=record, temperature=None if lm == MODEL_NAME else 0.0)
    asker.source_reader = None
    done = {(one["corpus"], one["question"]) for one in map(json.loads, out.open())} if out.exists() else set()
    every = corpora(data, count=count, seed=seed)
    most = max(len(one.asked) for one in every)
    turns = [(corpus, asked) for at in range(most) for corpus in every for asked in corpus.asked[at : at + 1]]
    with out.open("a") as lines, dspy.context(lm=model):
        for corpus, asked in turns:
            if (corpus.name, asked.question) in done:
                continue
            # A corpus is so small that the reranker can read all of it.
            asker.retriever = SimpleNamespace(search=lambda query, k, found=corpus.passages: list(found))
            asker.reranker = BiEncoderReranker(shared_encoder())
            prediction = asker(question=asked.question)
            line = {"lm": lm, "program": program, **_line(corpus, asked, prediction, reader)}
            lines.write(json.dumps(line, ensure_ascii=False) + "\n")
            lines.flush()


def _line(corpus: Corpus, asked: Asked, prediction: Any, reader: SpanReader) -> dict[str, Any]:
    readings = prediction.interpretations
    pairs = zip(readings, signs(asked.question, readings, prediction.passages, reader), strict=True)
    told = [
        {"right": bool(asked.answers) and agree(one.answer, asked.answers), **(asdict(sign) if sign else {})}
        for one, sign in pairs
    ]
    return {"corpus": corpus.name, "kind": asked.kind, "question": asked.question, "readings": told}


@dataclass(frozen=True)
class Told:
    """A question that was asked, of a kind if its corpus does not answer it.

    Attributes
    ----------
    signs, right
        Of each reading, and whether it is right.
    sure
        How sure each reading is, in [0, 1], once that is judged.
    """

    corpus: str
    kind: str
    signs: NDArray[np.float64]
    right: NDArray[np.bool_]
    sure: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    @property
    def surest(self) -> float:
        """How sure the surest reading is; -1 without readings."""
        return float(self.sure.max(initial=-1.0))

    @property
    def is_right(self) -> bool:
        """Whether the surest reading is right."""
        return bool(len(self.sure)) and bool(self.right[int(self.sure.argmax())])

    @property
    def aimed(self) -> bool:
        """Whether it should not be answered; those that people wrote to look answerable are only reported."""
        return self.kind not in ("", WRITTEN)


def read(path: Path) -> list[Told]:
    """Return the questions that `collect` kept; readings that the reader cannot judge are left out."""
    told = []
    for line in map(json.loads, path.read_text().splitlines()):
        judged = [one for one in line["readings"] if FEATURES[0] in one]
        rows = [[float(one[name]) for name in FEATURES] for one in judged]
        right = np.array([one["right"] for one in judged], dtype=bool)
        signs_of = np.array(rows, dtype=float).reshape(len(rows), len(FEATURES))
        told.append(Told(line["corpus"], line["kind"], signs_of, right))
    return told


def fit_readings(told: Sequence[Told], *, bias_alone: bool = False) -> tuple[NDArray[np.float64], float]:
    """Return weights and bias of the logistic regression over the readings, in which each corpus counts as much.

    With ``bias_alone`` the weights are those of `polyqa.confidence`.
    """
    from scipy.optimize import brentq
    from sklearn.linear_model import LogisticRegression

    rows, right = np.concatenate([one.signs for one in told]), np.concatenate([one.right for one in told])
    names = [one.corpus for one in told for _ in one.right]
    counts = Counter(names)
    weights = [len(names) / len(counts) / counts[name] for name in names]
    if bias_alone:  # likeliest where as many are right as is said
        shipped = np.array([*WEIGHTS.values()])

        def too_many(bias: float) -> float:
            return float(np.dot(weights, 1 / (1 + np.exp(-(rows @ shipped + bias))) - right))

        return shipped, float(brentq(too_many, -20, 20))
    scale = rows.std(axis=0) + 1e-9
    model = LogisticRegression(C=1.0).fit(rows / scale, right, weights)
    return model.coef_[0] / scale, float(model.intercept_[0])


def judge(told: Sequence[Told], weights: NDArray[np.float64], bias: float) -> list[Told]:
    """Return the questions with how sure their readings are."""
    return [replace(one, sure=1 / (1 + np.exp(-(one.signs @ weights + bias)))) for one in told]


def least_of(judged: Sequence[Told]) -> float:
    """Return the bar that parts right answers from answers to unanswerable questions best, each corpus alike.

    That is the largest one with the highest sum of both shares: right answers above it, unanswerable questions below
    (Youden's index).
    """
    names = sorted({one.corpus for one in judged})
    right = [[one.surest for one in judged if one.corpus == name and one.is_right] for name in names]
    cannot = [[one.surest for one in judged if one.corpus == name and one.aimed] for name in names]
    best = (0.0, 0.0)
    for least in np.arange(0.05, 0.5, 0.01):
        told, silent = ([float(np.mean(np.array(some) >= least)) for some in every] for every in (right, cannot))
        best = max(best, (round(float(np.mean(told)) + 1 - float(np.mean(silent)), 3), round(float(least), 2)))
    return best[1]


def _share(some: Sequence[bool]) -> float:
    return float(np.mean(some)) if some else float("nan")


def row(name: str, judged: Sequence[Told], least: float) -> list[str]:
    """Return the row of a corpus: what is told of what it answers and does not, without and with ``least``."""
    can = [one for one in judged if not one.kind]
    cannot = [one for one in judged if one.aimed]
    before = [one for one in can if one.surest >= 0]
    kept = [one for one in before if one.surest >= least]
    right = [one for one in before if one.is_right]
    return [
        name,
        str(len(can)),
        f"{_share([one.is_right for one in before]):.0%} → {_share([one.is_right for one in kept]):.0%}",
        f"{len(kept) / len(before):.0%}",
        f"{sum(one.surest >= least for one in right) / len(right):.0%}",
        str(len(cannot)),
        f"{_share([one.surest < 0 for one in cannot]):.0%} → {_share([one.surest < least for one in cannot]):.0%}",
    ]


@app.command()
def fit(
    lines: Annotated[Path, typer.Argument(help="What `collect` wrote.")],
    plot: Annotated[Path | None, typer.Option(help="Draw the risk-coverage curve.")] = None,
    bias_alone: Annotated[bool, typer.Option("--bias-alone", help="Keep the weights that polyqa has.")] = False,
    json_file: JsonFile = None,
) -> None:
    """Fit the weights, each corpus left out once, then on all of them."""
    told = read(lines)
    askers = sorted({f"`{one['program']}` with {one['lm']}" for one in map(json.loads, lines.open())})
    names = sorted({one.corpus for one in told})
    judged, rows = [], []
    bars: dict[str, float] = {}
    for name in names:
        others = [one for one in told if one.corpus != name]
        weights, bias = fit_readings(others, bias_alone=bias_alone)
        bars[name] = least_of(judge(others, weights, bias))
        here = judge([one for one in told if one.corpus == name], weights, bias)
        judged += here
        rows.append(row(name, here, bars[name]))
    weights, bias = fit_readings(told, bias_alone=bias_alone)
    least = least_of(judge(told, weights, bias))
    rows.append(row("all, fitted on all", judge(told, weights, bias), least))
    values = {"bias": bias, **dict(zip(FEATURES, weights.tolist(), strict=True)), "least": least}
    heads = ["left out", "answerable", "right answers", "kept", "right ones kept", "unanswerable", "not answered"]
    kinds = [[kind or "answerable", *_kind(judged, kind, bars)] for kind in dict.fromkeys(one.kind for one in told)]
    of_kinds = ["kind", "questions", "answered without limits", "answered", "answered or unsure"]
    report(
        f"{' and '.join(askers)}, reader polyqa-minilm-reader; {len(told)} questions over {len(names)} corpora, "
        f"{sum(len(one.right) for one in told)} readings, each corpus judged by what was fitted on the others",
        {
            "": Table(heads=["readings, least sure first", "predicted", "right"], rows=_calibration(judged)),
            "corpora": Table(heads=heads, rows=rows),
            "kinds": Table(heads=of_kinds, rows=kinds),
            "levels": Table(heads=["surest reading", "answers", "right"], rows=_levels(judged)),
        },
        json_file,
        values={name: round(value, 3) for name, value in values.items()},
    )
    typer.echo(json.dumps(values))
    if plot is not None:
        draw(told, judged, plot)


def _kind(judged: Sequence[Told], kind: str, bars: Mapping[str, float]) -> list[str]:
    some = [one for one in judged if one.kind == kind]
    least = [[at] * len(some) for at in (0.0, 0.5)] + [[bars[one.corpus] for one in some]]
    told = [[one.surest >= at for one, at in zip(some, every, strict=True)] for every in least]
    return [str(len(some)), *(f"{_share(part):.0%}" for part in told)]


def _calibration(judged: Sequence[Told], parts: int = 5) -> list[list[str]]:
    sure = np.concatenate([one.sure for one in judged])
    right = np.concatenate([one.right for one in judged])
    order = np.array_split(np.argsort(sure, kind="stable"), parts)
    return [[str(len(part)), f"{sure[part].mean():.0%}", f"{right[part].mean():.0%}"] for part in order]


def _levels(judged: Sequence[Told]) -> list[list[str]]:
    rows = []
    for least in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        some = [one for one in judged if one.surest >= least]
        rows.append([f"≥ {least}", str(len(some)), f"{_share([one.is_right for one in some]):.0%}"])
    return rows


def draw(told: Sequence[Told], judged: Sequence[Told], path: Path) -> None:
    """Draw the share of wrong answers over the share of questions that are answered, the surest first."""
    figure, axes = new_figure(6, 4)
    alone = judge(told, np.array([float(name == "asked") for name in FEATURES]), 0.0)
    for some, label, color in ((alone, "reader's margin alone", GREY), (judged, "fitted, corpus left out", BLUE)):
        order = sorted((one for one in some if one.surest >= 0), key=lambda one: -one.surest)
        wrong = np.cumsum([not one.is_right for one in order])
        count = np.arange(1, len(order) + 1)
        axes.plot(count / len(some), wrong / count, label=label, color=color)
    answerable = _share([not one.kind for one in told])
    axes.axvline(answerable, color=ORANGE, linestyle=":", label="share that the corpora answer")
    axes.set(
        xlabel="share of questions answered", ylabel="share of answers that are wrong", ylim=(0, None), xlim=(0, 1)
    )
    axes.legend(frameon=False)
    save_figure(figure, path)


if __name__ == "__main__":
    app()
