"""Model cards: what a model is, what it was made of, how good it is, how to make it again, and the picture of that."""

import json
import shlex
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from polyqa.base.errors import PolyqaError
from polyqa.models.compact import COMPACT_FILE

_LICENCE = (
    "Licence of the encoder: Apache-2.0. Training text: SQuAD, ASQA, AmbigNQ and Wikipedia, CC BY-SA; none of it is in "
    "the weights' folder."
)


def reader_card(report: dict[str, Any], out: Path, command: Sequence[str]) -> str:
    """Return the card of a span reader from the report of its training and the folder that it filled."""
    small, half = out / "shipped" / COMPACT_FILE, out / "model" / "model.safetensors"
    lines = [
        "# Span reader with a null answer",
        "",
        f"Fine-tuned from `{Path(report['settings']['init']).name}` by `lab.training.train_reader`; matrices in "
        f"int8 with a scale per row, {_megabytes(small)} MB (float16: {_megabytes(half)} MB). The answer is empty iff "
        "null score − best span score > threshold.",
        "",
        *_table(
            ("questions", "without answer", "threshold", *_READER_COLUMNS.values()),
            [
                (name, *_reader_row(report[key]))
                for name, key in (
                    ("calibration", "calibration"),
                    ("evaluation", "evaluation"),
                    ("evaluation, float16", "evaluation_float16"),
                )
                if key in report
            ],
        ),
        "",
        _threshold(report),
    ]
    if "evaluation" in report:
        seconds = report["evaluation"]["seconds_per_1000_pairs"]
        lines.append(f"Reading takes {seconds:.1f} s per 1,000 question-context pairs on the machine that trained it.")
    return "\n".join([*lines, "", *_making(report, command)]) + "\n"


def _threshold(report: dict[str, Any]) -> str:
    chosen = f"The null threshold {report['null_threshold']:.2f} was chosen on the"
    if "calibration" in report:
        return f"{chosen} calibration questions (articles that were not trained on), not on the evaluation's."
    if "evaluation" in report:
        return f"{chosen} evaluation's questions; each article's figures are made with the best one of the others."
    return "The null threshold is 0: nothing was held out to choose it on."


def colbert_card(report: dict[str, Any], out: Path, command: Sequence[str]) -> str:
    """Return the card of a ColBERT checkpoint from the report of its training and the folder that it filled."""
    rows = [
        (name, str(report[key]["questions"]), f"{report[key]['ac_at_5']:.1f}", f"{report[key]['mrecall_at_5']:.1f}")
        for name, key in (
            ("before training", "before"),
            ("after training, float32", "after"),
            ("after training, int8", "after_int8"),
        )
    ]
    queries = ", ".join(f"{count} {source}" for source, count in report["queries"].items())
    lines = [
        "# ColBERT checkpoint",
        "",
        f"Late interaction from `{Path(report['settings']['init']).name}` by `lab.training.train_colbert`. What was "
        f"trained is {_megabytes(out / 'shipped' / COMPACT_FILE)} MB in int8, a scale per row; the rest is in the "
        "encoder's own package.",
        "",
        *_table(("questions", "AC@5", "MRecall@5"), rows),
        "",
        "The questions are items of the training set that were kept out; each ranks a pool of its nearest passages, "
        "and only answers that the pool holds count.",
        "",
        f"Queries: {queries}.",
        "",
    ]
    return "\n".join([*lines, *_making(report, command)]) + "\n"


def writer_card(report: dict[str, Any], out: Path, command: Sequence[str]) -> str:
    """Return the card of a writer of questions from the report of its training and the folder that it filled."""
    start = Path(report["settings"]["init"]).name or "the sentence encoder"
    kinds = {"alone": "of a passage alone", "readings": "readings, in the user's words"}
    rows = [
        (
            kinds[kind],
            str(found["n"]),
            f"{found['token_f1']:.1f}",
            f"{found['edit_f1']:.1f}" if "edit_f1" in found else "–",
            f"{found['questions_per_second']:.0f}",
        )
        for kind, found in report["measured"].items()
    ]
    lines = [
        "# Writer of questions",
        "",
        f"An encoder-decoder with a copy mechanism that starts from {start}, made by `lab.training.train_writer`: "
        f"matrices in int8 with a scale per row, {_megabytes(out / 'shipped' / COMPACT_FILE)} MB. It writes the "
        "question that a passage answers with a given answer, alone or in the words of a user's question.",
        "",
        *_table(("questions", "token F1", "F1 of the edits", "questions a second"), rows),
        "",
        "The questions are of articles and ambiguous questions that were not trained on; F1 is against what a person "
        f"wrote. Trained on {report['lessons']:,} questions.",
        "",
    ]
    return "\n".join([*lines, *_making(report, command)]) + "\n"


_READER_COLUMNS = {
    "answerable_em": "answerable EM",
    "answerable_f1": "answerable F1",
    "overall_em": "overall EM",
    "overall_f1": "overall F1",
    "kept_f1": "answerable F1, null allowed",
    "null_accuracy": "null accuracy",
}


def _reader_row(scores: dict[str, Any]) -> tuple[str, ...]:
    counts = (str(scores["questions"]), str(scores["without_answer"]), f"{scores['threshold']:.2f}")
    return (*counts, *(f"{scores[name]:.1f}" for name in _READER_COLUMNS))


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    head = f"| | {' | '.join(columns)} |"
    return [head, "|---" * (len(columns) + 1) + "|", *(f"| {' | '.join(row)} |" for row in rows)]


def _making(report: dict[str, Any], command: Sequence[str]) -> list[str]:
    made = report["schedule"]
    shown = " ".join(shlex.quote(_plain(part)) for part in command)
    return [
        f"{made['epochs']} epochs, AdamW, peak learning rate {made['peak']:g}, warmup {made['warmup']:g}, seed "
        f"{made['seed']}. Made again by:",
        "",
        "```sh",
        shown,
        "```",
        "",
        "![training curve](curve.svg)",
        "",
        _LICENCE,
    ]


def _plain(argument: str) -> str:
    # Folders of the machine that trained it are nobody's business.
    return Path(argument).name if "/" in argument else argument


def _megabytes(path: Path) -> str:
    return f"{path.stat().st_size / 1e6:.1f}"


def draw_curve(log: Path, target: Path, title: str) -> None:
    """Draw loss and learning rate over the steps of a run's log as SVG (about 30 KB).

    Raises
    ------
    PolyqaError
        If the log has no line.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.is_file() else []
    if not rows:
        raise PolyqaError(f"{log} has no line to draw: train first.")
    steps, losses = [row["seen"] for row in rows], [row["loss"] for row in rows]
    figure = Figure(figsize=(6.4, 3.2), layout="constrained")
    axes = figure.subplots()
    axes.plot(steps, losses, color="tab:blue", alpha=0.35, linewidth=1)
    smooth = list(accumulate(losses, lambda mean, loss: 0.9 * mean + 0.1 * loss))
    axes.plot(steps, smooth, color="tab:blue", linewidth=2)
    axes.set(xlabel="step", ylabel="training loss", title=title)
    rate = axes.twinx()
    rate.plot(steps, [row["rate"] for row in rows], color="tab:orange", linewidth=1)
    rate.set(ylabel="learning rate", ylim=(0, None))
    # Without a date and with fixed ids the same log gives the same file.
    with rc_context({"svg.hashsalt": "polyqa"}):
        figure.savefig(target, format="svg", metadata={"Date": None})
