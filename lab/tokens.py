"""What a question costs with demos: calls and tokens of every program, with both presets.

python -m lab.tokens [--program NAME …] [-k 5] [--questions SOURCE] [--limit N] [--json FILE]

Demos are made from the labels of training questions, and each call shows the nearest ones, as the recipe ``knn`` does
it. Only ambiguous questions are counted. Prompts are those that would be sent, the replies are the embedded engine's,
and the tokens are word pieces of its reader.
"""

from collections.abc import Sequence
from statistics import fmean
from typing import Annotated

import dspy
import typer

import polyqa
from polyqa.colbert_index import ColBERTIndex
from polyqa.evaluation.loading import load_questions
from polyqa.loading import open_index
from polyqa.metrics.gold import Question
from polyqa.optimizers.compiler import shown_demos
from polyqa.optimizers.labels import label_demos
from polyqa.programs import set_knn_demos
from polyqa.programs.base import Preset
from polyqa.programs.registry import REGISTRY

from .results import Index, JsonFile, Programs, Questions, Table, report, tracked, without_folders
from .servers import rehearse

_HEADS = ["program", "preset", "calls", "in", "out", "paper in", "paper out"]
_PRESETS: tuple[Preset, ...] = ("paper", "lean")
PAPER = {"closed-book": (913, 123), "rac": (3_865, 426), "toc": (12_814, 1_207), "diva": (7_873, 515)}
"""Tokens in and out in table 4 of DIVA (In et al., 2024): ASQA, GPT-4, demos and 5 passages of its appendix."""


def measure(program: dspy.Module, questions: Sequence[Question]) -> tuple[float, float, float]:
    """Return the mean calls, input tokens and output tokens of a question."""
    calls = [rehearse(program, question.question) for question in questions]
    sent, received = (
        fmean(sum(call["usage"][kind] for call in one) for one in calls)
        for kind in ("prompt_tokens", "completion_tokens")
    )
    return fmean(map(len, calls)), sent, received


def with_demos(name: str, preset: Preset, index: ColBERTIndex, train: list[Question], k: int) -> dspy.Module:
    """Return a program whose calls show the k nearest demos that labels give."""
    program = polyqa.load(name, index=index, preset=preset)
    demos = label_demos(program, train)
    set_knn_demos(program, {step: demos[step] for step in shown_demos(program) if demos[step]}, k)
    return program


def main(
    program: Programs = None,
    index: Index = "homonyms",
    train: Annotated[str, typer.Option(help="Training questions, the source of the demos.")] = "homonyms/train",
    questions: Questions = "homonyms/dev",
    limit: Annotated[int | None, typer.Option(min=1, help="A random sample of so many questions.")] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Demos that a call shows.")] = 5,
    json_file: JsonFile = None,
) -> None:
    """Count the tokens of programs with demos."""
    opened, training = open_index(index), load_questions(train)
    asked = [one for one in load_questions(questions, limit=limit) if len(one.readings) > 1]
    rows = []
    for name, preset in tracked([(name, preset) for name in program or REGISTRY for preset in _PRESETS], "counting"):
        calls, sent, received = measure(with_demos(name, preset, opened, training, k), asked)
        paper = [f"{amount:,}" for amount in PAPER[name]] if name in PAPER else ["–", "–"]
        rows.append([f"`{name}`", preset, f"{calls:.1f}", f"{sent:,.0f}", f"{received:,.0f}", *paper])
    about = (
        f"{without_folders(questions)}, {len(asked)} ambiguous questions; index {opened.name} ({opened.fingerprint}); "
        f"tokens of the embedded reader; demos: the {k} nearest of {without_folders(train)} ({len(training)} questions)"
    )
    report(about, Table(heads=_HEADS, rows=rows), json_file)


if __name__ == "__main__":
    typer.run(main)
