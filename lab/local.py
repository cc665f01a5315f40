"""What a language model on this machine makes of questions: readings that are right and found, beside the other scores.

python -m lab.local RUN … [--before RUN …] [--json FILE]; a RUN is a folder of ``polyqa evaluate``.

A reading is right if its answer says the same as that of a gold reading (`polyqa.metrics.agreement.agree`), each gold
reading counted once; a gold reading is found if it has such a reading.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from scipy.optimize import linear_sum_assignment

from polyqa.artifacts.card import Card
from polyqa.artifacts.store import CARD
from polyqa.base.text import p_text
from polyqa.evaluation.columns import COLUMNS
from polyqa.evaluation.comparison import compare_runs
from polyqa.evaluation.loading import load_questions
from polyqa.evaluation.runs import Run, open_run, summarize
from polyqa.evaluation.tables import amount_text
from polyqa.metrics.agreement import agree
from polyqa.metrics.gold import Question

from .results import JsonFile, Table, report, without_folders

_METRICS = (
    "disambig_f1",
    "rouge_l",
    "answer_f1",
    "str_em",
    "length",
    "calls",
    "input_tokens",
    "output_tokens",
    "failed",
)


def matched(answers: Sequence[str], question: Question) -> int:
    """Return how many answers of readings say the same as that of a gold reading, each gold reading counted once."""
    if not answers:
        return 0
    same = np.array([[agree(answer, reading.short_answers) for reading in question.readings] for answer in answers])
    return int(same[linear_sum_assignment(same, maximize=True)].sum())


def readings_cells(run: Run, gold: Mapping[str, Question]) -> list[str]:
    """Return what part of the readings is right, and what part of the gold readings is found."""
    pairs = [(gold[record.id], [reading.answer for reading in record.interpretations]) for record in run.records]
    right = sum(matched(answers, question) for question, answers in pairs)
    reading_count = sum(len(answers) for _, answers in pairs)
    gold_count = sum(len(question.readings) for question, _ in pairs)
    precision, recall = 100 * right / max(reading_count, 1), 100 * right / gold_count
    return [f"{precision:.1f} of {reading_count}", f"{recall:.1f} of {gold_count}"]


def _row(run: Run, gold: Mapping[str, Question]) -> list[str]:
    assert run.settings is not None
    summary = summarize(run.records)
    trained = any("confidence" in record.extra for record in run.records)
    cells = [
        f"`{run.settings.program}`" + " with trained weights" * trained,
        run.settings.lm,
        without_folders(run.settings.questions).split(" (")[0],
        str(summary["dr"]) if "dr" in summary else "–",
        *readings_cells(run, gold),
    ]
    return cells + [amount_text(name, summary[name].value) if name in summary else "–" for name in _METRICS]


def _gain(before: Run, after: Run, label: str, gold: Mapping[str, Question]) -> list[str]:
    differences, figures = compare_runs(before, after, headline="f1_answer").metrics, summarize(after.records)
    cells = [label, str(len(after.records))]
    for name in ("dr", "f1_answer"):
        difference = differences.get(name)
        cells += ["–"] * 3 if difference is None else [str(figures[name]), str(difference), p_text(difference.p)]
    return cells + readings_cells(after, gold) + _spent(after)


def _spent(run: Run) -> list[str]:
    """Return what the compilation took that made a run (``FOLDER/.work/test-after``), its runs on dev and test too."""
    card = run.path.absolute().parents[1] / CARD
    if not card.is_file():
        return ["–"] * 3
    spent = Card.model_validate_json(card.read_bytes()).spent
    return [f"{value:,}" for value in (spent.calls, spent.input_tokens, spent.output_tokens)]


def main(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs.")],
    questions: Annotated[list[str], typer.Option(help="The questions of each run, as for polyqa evaluate, in order.")],
    before: Annotated[list[Path] | None, typer.Option(help="What each run is compared with.")] = None,
    label: Annotated[list[str] | None, typer.Option(help="What each comparison is called.")] = None,
    json: JsonFile = None,
) -> None:
    """Print the runs as a table."""
    heads = ["program", "language model", "questions", "DR", "readings right, %", "readings found, %"]
    heads += [COLUMNS[name].label for name in _METRICS]
    opened = [open_run(run) for run in runs]
    gold = [{question.id: question for question in load_questions(source)} for source in questions]
    tables = {"runs": Table(heads=heads, rows=[_row(*pair) for pair in zip(opened, gold, strict=True)])}
    if before:
        pairs = zip(map(open_run, before), opened, label or (), gold, strict=True)
        heads = ["compiled by", "n", "DR", "gain", "p", "F1 of answers", "gain", "p"]
        heads += ["readings right, %", "readings found, %"]
        heads += ["calls", "tokens in", "tokens out"]
        tables["gains"] = Table(heads=heads, rows=[_gain(*pair) for pair in pairs])
    about = (
        "Programs with a language model on this machine (local/…, llama.cpp, temperature 0, grammar) and with the "
        "embedded engine, over the same passages; reader polyqa-minilm-reader"
    )
    report(about, tables, json)


if __name__ == "__main__":
    typer.run(main)
