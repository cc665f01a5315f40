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
    already_asked = (
        {(line["corpus"], line["question"]) for line in map(json.loads, out.open())} if out.exists() else set()
    )
    all_corpora = corpora(data, count=count, seed=seed)
    most_questions = max(len(corpus.asked) for corpus in all_corpora)
    turns = [
        (corpus, question)
        for at in range(most_questions)
        for corpus in all_corpora
        for question in corpus.asked[at : at + 1]
    ]
    with out.open("a") as lines, dspy.context(lm=model):
        for corpus, question in turns:
            if (corpus.name, question.question) in already_asked:
                continue
            # A corpus is so small that the reranker can read all of it.
            asker.retriever = SimpleNamespace(search=lambda query, k, passages=corpus.passages: list(passages))
            asker.reranker = BiEncoderReranker(shared_encoder())
            prediction = asker(question=question.question)
            line = {"lm": lm, "program": program, **_line(corpus, question, prediction, reader)}
            lines.write(json.dumps(line, ensure_ascii=False) + "\n")
            lines.flush()


def _line(corpus: Corpus, question: Asked, prediction: Any, reader: SpanReader) -> dict[str, Any]:
    readings = prediction.interpretations
    pairs = zip(readings, signs(question.question, readings, prediction.passages, reader), strict=True)
    judged_readings = [
        {"right": bool(question.answers) and agree(reading.answer, question.answers), **(asdict(sign) if sign else {})}
        for reading, sign in pairs
    ]
    return {"corpus": corpus.name, "kind": question.kind, "question": question.question, "readings": judged_readings}


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
    questions = []
    for line in map(json.loads, path.read_text().splitlines()):
        judged = [reading for reading in line["readings"] if FEATURES[0] in reading]
        rows = [[float(reading[name]) for name in FEATURES] for reading in judged]
        right = np.array([reading["right"] for reading in judged], dtype=bool)
        signs_of = np.array(rows, dtype=float).reshape(len(rows), len(FEATURES))
        questions.append(Told(line["corpus"], line["kind"], signs_of, right))
    return questions


def fit_readings(questions: Sequence[Told], *, bias_alone: bool = False) -> tuple[NDArray[np.float64], float]:
    """Return weights and bias of the logistic regression over the readings, in which each corpus counts as much.

    With ``bias_alone`` the weights are those of `polyqa.confidence`.
    """
    from scipy.optimize import brentq
    from sklearn.linear_model import LogisticRegression

    rows = np.concatenate([question.signs for question in questions])
    right = np.concatenate([question.right for question in questions])
    names = [question.corpus for question in questions for _ in question.right]
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


def judge(questions: Sequence[Told], weights: NDArray[np.float64], bias: float) -> list[Told]:
    """Return the questions with how sure their readings are."""
    return [replace(question, sure=1 / (1 + np.exp(-(question.signs @ weights + bias)))) for question in questions]


def least_of(judged: Sequence[Told]) -> float:
    """Return the bar that parts right answers from answers to unanswerable questions best, each corpus alike.

    That is the largest one with the highest sum of both shares: right answers above it, unanswerable questions below
    (Youden's index).
    """
    names = sorted({question.corpus for question in judged})
    right = [
        [question.surest for question in judged if question.corpus == name and question.is_right] for name in names
    ]
    cannot = [[question.surest for question in judged if question.corpus == name and question.aimed] for name in names]
    best = (0.0, 0.0)
    for bar in np.arange(0.05, 0.5, 0.01):
        right_above, wrong_above = (
            [float(np.mean(np.array(levels) >= bar)) for levels in corpora_levels] for corpora_levels in (right, cannot)
        )
        shares = float(np.mean(right_above)) + 1 - float(np.mean(wrong_above))
        best = max(best, (round(shares, 3), round(float(bar), 2)))
    return best[1]


def _share(outcomes: Sequence[bool]) -> float:
    return float(np.mean(outcomes)) if outcomes else float("nan")


def row(name: str, judged: Sequence[Told], bar: float) -> list[str]:
    """Return the row of a corpus: what is told of what it answers and does not, without and with ``bar``."""
    answerable = [question for question in judged if not question.kind]
    unanswerable = [question for question in judged if question.aimed]
    with_readings = [question for question in answerable if question.surest >= 0]
    above = [question for question in with_readings if question.surest >= bar]
    right = [question for question in with_readings if question.is_right]
    right_before, right_above = (_share([question.is_right for question in part]) for part in (with_readings, above))
    silent_before, silent_above = (_share([question.surest < limit for question in unanswerable]) for limit in (0, bar))
    return [
        name,
        str(len(answerable)),
        f"{right_before:.0%} → {right_above:.0%}",
        f"{len(above) / len(with_readings):.0%}",
        f"{sum(question.surest >= bar for question in right) / len(right):.0%}",
        str(len(unanswerable)),
        f"{silent_before:.0%} → {silent_above:.0%}",
    ]


@app.command()
def fit(
    lines: Annotated[Path, typer.Argument(help="What `collect` wrote.")],
    plot: Annotated[Path | None, typer.Option(help="Draw the risk-coverage curve.")] = None,
    bias_alone: Annotated[bool, typer.Option("--bias-alone", help="Keep the weights that polyqa has.")] = False,
    json_file: JsonFile = None,
) -> None:
    """Fit the weights, each corpus left out once, then on all of them."""
    questions = read(lines)
    askers = sorted({f"`{line['program']}` with {line['lm']}" for line in map(json.loads, lines.open())})
    names = sorted({question.corpus for question in questions})
    judged, rows = [], []
    bars: dict[str, float] = {}
    for name in names:
        other_questions = [question for question in questions if question.corpus != name]
        weights, bias = fit_readings(other_questions, bias_alone=bias_alone)
        bars[name] = least_of(judge(other_questions, weights, bias))
        here = judge([question for question in questions if question.corpus == name], weights, bias)
        judged += here
        rows.append(row(name, here, bars[name]))
    weights, bias = fit_readings(questions, bias_alone=bias_alone)
    bar = least_of(judge(questions, weights, bias))
    rows.append(row("all, fitted on all", judge(questions, weights, bias), bar))
    values = {"bias": bias, **dict(zip(FEATURES, weights.tolist(), strict=True)), "least": bar}
    heads = ["left out", "answerable", "right answers", "kept", "right ones kept", "unanswerable", "not answered"]
    kinds_asked = dict.fromkeys(question.kind for question in questions)
    kinds = [[kind or "answerable", *_kind(judged, kind, bars)] for kind in kinds_asked]
    of_kinds = ["kind", "questions", "answered without limits", "answered", "answered or unsure"]
    readings = sum(len(question.right) for question in questions)
    report(
        f"{' and '.join(askers)}, reader polyqa-minilm-reader; {len(questions)} questions over {len(names)} corpora, "
        f"{readings} readings, each corpus judged by what was fitted on the others",
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
        draw(questions, judged, plot)


def _kind(judged: Sequence[Told], kind: str, bars: Mapping[str, float]) -> list[str]:
    of_kind = [question for question in judged if question.kind == kind]
    limit_rows = [[at] * len(of_kind) for at in (0.0, 0.5)] + [[bars[question.corpus] for question in of_kind]]
    answered_rows = [
        [question.surest >= at for question, at in zip(of_kind, limits, strict=True)] for limits in limit_rows
    ]
    return [str(len(of_kind)), *(f"{_share(part):.0%}" for part in answered_rows)]


def _calibration(judged: Sequence[Told], parts: int = 5) -> list[list[str]]:
    sure = np.concatenate([question.sure for question in judged])
    right = np.concatenate([question.right for question in judged])
    order = np.array_split(np.argsort(sure, kind="stable"), parts)
    return [[str(len(part)), f"{sure[part].mean():.0%}", f"{right[part].mean():.0%}"] for part in order]


def _levels(judged: Sequence[Told]) -> list[list[str]]:
    rows = []
    for bar in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        above = [question for question in judged if question.surest >= bar]
        rows.append([f"≥ {bar}", str(len(above)), f"{_share([question.is_right for question in above]):.0%}"])
    return rows


def draw(questions: Sequence[Told], judged: Sequence[Told], path: Path) -> None:
    """Draw the share of wrong answers over the share of questions that are answered, the surest first."""
    figure, axes = new_figure(6, 4)
    alone = judge(questions, np.array([float(name == "asked") for name in FEATURES]), 0.0)
    curves = ((alone, "reader's margin alone", GREY), (judged, "fitted, corpus left out", BLUE))
    for curve_questions, label, color in curves:
        with_readings = [question for question in curve_questions if question.surest >= 0]
        order = sorted(with_readings, key=lambda question: -question.surest)
        wrong = np.cumsum([not question.is_right for question in order])
        count = np.arange(1, len(order) + 1)
        axes.plot(count / len(curve_questions), wrong / count, label=label, color=color)
    answerable = _share([not question.kind for question in questions])
    axes.axvline(answerable, color=ORANGE, linestyle=":", label="share that the corpora answer")
    axes.set(
        xlabel="share of questions answered", ylabel="share of answers that are wrong", ylim=(0, None), xlim=(0, 1)
    )
    axes.legend(frameon=False)
    save_figure(figure, path)


if __name__ == "__main__":
    app()
