"""What compiling brings with the embedded engine, on questions of people, and what each clause does alone.

python -m lab.compiling --sets FOLDER [--only NAME] [--train 150] [--dev 50] [--test 200] [--json FILE]

FOLDER holds ``NAME-train.json`` and ``NAME-test.json`` of the sets below, in any format that `polyqa evaluate` takes:
questions that the index can answer. ASQA's own files have the long answers that DR needs.
The program is compiled by each recipe on train (the first questions for train, the next for dev), and test is answered
once by the uncompiled program and once by each compiled one. Every clause is also tried alone on train. Takes about
half an hour a set; what is made is kept in ``--work``, and the same command goes on.

Two sets need no file: the shipped questions (``homonyms``), and those of them that ask when, with nothing but years for
answers (``years``), as somebody may want them who labels questions otherwise than those that the engine was fitted to.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated

import dspy
import typer

import polyqa
from polyqa.base.text import p_text
from polyqa.compiling import make_plan
from polyqa.evaluating import evaluate
from polyqa.evaluation.comparison import difference_in
from polyqa.evaluation.loading import load_questions
from polyqa.evaluation.runs import Run
from polyqa.extractive.answer_kinds import years
from polyqa.language_models import Models
from polyqa.metrics.gold import Question, Reading
from polyqa.metrics.optimizing import Measure
from polyqa.optimizers.clauses import Candidate, candidates_for, fitted
from polyqa.optimizers.compiler import compile_program
from polyqa.question_sets import Sets

from .results import JsonFile, Program, Table, report

SETS: Mapping[str, tuple[str, str, Measure]] = {
    "ambignq": ("AmbigNQ", "asqa", "f1_answer"),
    "temp": ("SituatedQA, times", "asqa", "f1_answer"),
    "geo": ("SituatedQA, places", "asqa", "f1_answer"),
    "asqa": ("ASQA", "asqa", "dr"),
    "timeqa": ("TimeQA", "timeqa", "f1_answer"),
    "homonyms": ("homonyms", "homonyms", "dr"),
    "years": ("homonyms, answered by years", "homonyms", "f1_answer"),
}
"""By name: label, the index that answers, and what is measured."""
RECIPES = ("clauses", "knn", "clauses-then-knn")
_HEADS = ["questions", "metric", "n", "recipe", "before", "after", "difference", "p", "clauses kept"]


@dataclass(frozen=True)
class Compared:
    """What was found on a set: rows of recipes, and by step and clause what the clause does alone."""

    label: str
    rows: list[list[str]]
    alone: dict[str, str]


def tables(compared: Sequence[Compared]) -> dict[str, Table]:
    """Return the recipes on each set as a table, and what each clause does alone, a column for each set."""
    recipes = Table(heads=_HEADS, rows=[row for one in compared for row in one.rows])
    names = dict.fromkeys(name for one in compared for name in one.alone)
    rows = [[name, *(one.alone.get(name, "") for one in compared)] for name in names]
    clauses = Table(heads=["clause", *(one.label for one in compared)], rows=rows)
    return {"recipes": recipes, "clauses": clauses} if rows else {"recipes": recipes}


def _tried(task: type[dspy.Signature], train: Sequence[Question]) -> list[Candidate]:
    """Return the library's clauses and those of the labels."""
    return list(dict.fromkeys([*candidates_for(task), *fitted(candidates_for(task), train)]))


def _kept(program: dspy.Module, compiled: dspy.Module, train: Sequence[Question]) -> list[str]:
    before = {name: predictor.signature.instructions for name, predictor in program.named_predictors()}
    return [
        clause.name
        for name, predictor in compiled.named_predictors()
        for clause in _tried(predictor.signature, train)
        if clause.text in predictor.signature.instructions and clause.text not in before[name]
    ]


def measure(
    name: str, program: str, parts: Sequence[Sequence[Question]], recipes: Sequence[str], work: Path, *, alone: bool
) -> Compared:
    """Compile a program by each recipe on a set's train and dev, and measure on test; also each clause alone on train.

    What is made is kept in the folder ``work``.
    """
    (label, index, metric), (train, dev, test) = SETS[name], parts
    ready = polyqa.load(program, index=index)
    # The compilations of a set all ask the same questions: each is searched for once.
    ready.retriever = SimpleNamespace(search=cache(ready.retriever.search))
    models = Models(lm="polyqa/extractive", judge=None)

    def run(chosen: dspy.Module, questions: Sequence[Question], folder: str) -> Run:
        return evaluate(chosen, questions, models=models, folder=work / name / folder, threads=2)

    compared = Compared(f"{label}, {metric}, n = {len(train)}", [], {})
    before = run(ready, test, "test-before")
    for recipe in recipes:
        plan = make_plan(recipe, Sets(train=train, dev=dev), models, measure=metric, threads=2)
        compiled = compile_program(ready, plan, work / name / recipe).program
        found = difference_in(before, run(compiled, test, f"test-{recipe}"), metric)
        values = [f"{found.a:.1f}", f"{found.b:.1f}", str(found), p_text(found.p)]
        kept = ", ".join(_kept(ready, compiled, train)) or "–"
        compared.rows.append([label, metric, str(found.n), recipe, *values, kept])
        typer.echo(" | ".join(compared.rows[-1]), err=True)
    if not alone:
        return compared
    bare = run(ready, train, "train-bare")
    for step, predictor in ready.named_predictors():
        for clause in _tried(predictor.signature, train):
            changed = ready.deepcopy()
            copy = dict(changed.named_predictors())[step]
            copy.signature = copy.signature.with_instructions(f"{copy.signature.instructions}\n{clause.text}")
            tried = difference_in(bare, run(changed, train, f"train-{clause.name}"), metric)
            compared.alone[f"{step}: {clause.name}"] = str(tried)
    return compared


def _parts(name: str, folder: Path, train: int) -> list[list[Question]]:
    """Return train, dev and test; dev follows train in its file if the set has none of its own."""
    if name in ("homonyms", "years"):
        parts = [load_questions(f"homonyms/{part}") for part in ("train", "dev", "test")]
        return [answered_by_years(part) for part in parts] if name == "years" else parts
    every, test = (load_questions(next(folder.glob(f"{name}-{part}.json*"))) for part in ("train", "test"))
    return [every[:train], every[train:], test]


def answered_by_years(questions: Sequence[Question]) -> list[Question]:
    """Return the questions that ask when, with the years of their answers alone: the same task, other labels."""

    def dated(reading: Reading) -> Reading:
        return replace(reading, short_answers=tuple({y: 0 for one in reading.short_answers for y in years(one)}))

    asking = [one for one in questions if one.question.lower().startswith("when")]
    labelled = [replace(one, readings=tuple(map(dated, one.readings))) for one in asking]
    return [one for one in labelled if all(reading.short_answers for reading in one.readings)]


def main(
    sets: Annotated[Path, typer.Option(help="The folder of the questions.")],
    only: Annotated[str, typer.Option(help="Names of sets, with commas between.")] = ",".join(SETS),
    recipes: Annotated[str, typer.Option(help="With commas between.")] = ",".join(RECIPES),
    program: Program = "rac",
    train: Annotated[int, typer.Option(min=12, help="Questions that demos and clauses come from.")] = 150,
    dev: Annotated[int, typer.Option(min=1, help="Questions that pick, where a recipe does.")] = 50,
    test: Annotated[int, typer.Option(min=2, help="Questions that are reported.")] = 200,
    alone: Annotated[bool, typer.Option(help="Also try every clause alone on train.")] = True,
    work: Annotated[Path, typer.Option(help="Where runs and compilations are kept.")] = Path("runs/compiling"),
    json_file: JsonFile = None,
) -> None:
    """Measure what compiling brings."""
    compared = []
    for name in only.split(","):
        parts = [part[:size] for part, size in zip(_parts(name, sets, train), (train, dev, test), strict=True)]
        compared.append(measure(name, program, parts, recipes.split(","), work, alone=alone))
    report(f"`{program}` with polyqa/extractive, embedded reader", tables(compared), json_file)


if __name__ == "__main__":
    typer.run(main)
