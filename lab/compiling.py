"""What compiling brings with the embedded engine, on questions of people, and what each clause does alone.

python -m lab.compiling --sets FOLDER [--only NAME] [--train 150] [--dev 50] [--test 200] [--json FILE]

FOLDER holds ``NAME-train.json`` and ``NAME-test.json`` of the sets below, in any format that `polyqa evaluate` takes.
`python -m lab.answerable --depth 5` makes those of AmbigNQ and SituatedQA, `python -m
lab.timeqa` those of TimeQA with their corpus, and ASQA's own files have the long answers that DR needs.
The program is compiled by each recipe on train (the first questions for train, the next for dev), and test is answered
once by the uncompiled program and once by each compiled one. Every clause is also tried alone on train. Takes about
half an hour a set; what is made is kept in ``--work``, and the same command goes on.

Two sets need no file: the shipped questions (``homonyms``), and those of them that ask when, with nothing but years for
answers (``years``), as somebody may want them who labels questions otherwise than those that the engine was fitted to.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import dspy
import typer
from pydantic import Field

import polyqa
from polyqa.base.values import Passage
from polyqa.compiling import make_plan
from polyqa.evaluating import evaluate
from polyqa.evaluation.comparison import compare_runs
from polyqa.evaluation.loading import load_questions
from polyqa.evaluation.runs import Run
from polyqa.evaluation.tables import markdown_table, p_text
from polyqa.extractive.answer_kinds import years
from polyqa.language_models import Models
from polyqa.metrics.gold import Question
from polyqa.metrics.optimizing import Measure
from polyqa.optimizers.clauses import Candidate, candidates_for, fitted
from polyqa.optimizers.compiler import compile_program
from polyqa.question_sets import Sets

from .results import Part, keep, today


@dataclass(frozen=True)
class Set:
    """Questions, the index that answers them, and what is measured."""

    label: str
    index: str
    measure: Measure


SETS: Mapping[str, Set] = {
    "ambignq": Set("AmbigNQ", "asqa", "f1_answer"),
    "temp": Set("SituatedQA, times", "asqa", "f1_answer"),
    "geo": Set("SituatedQA, places", "asqa", "f1_answer"),
    "asqa": Set("ASQA", "asqa", "dr"),
    "timeqa": Set("TimeQA", "timeqa", "f1_answer"),
    "homonyms": Set("homonyms", "homonyms", "dr"),
    "squad": Set("SQuAD, four articles", "squad-four", "f1_answer"),
    "years": Set("homonyms, answered by years", "homonyms", "f1_answer"),
}
RECIPES = ("clauses", "knn", "clauses-then-knn", "mipro", "gepa")


class Row(Part):
    """A recipe on a set: both values, the difference with its interval and p, and the clauses that were kept."""

    before: float
    after: float
    difference: float
    low: float
    high: float
    p: float
    kept: list[str]


class Alone(Part):
    """A clause alone on the training questions: the difference with its interval."""

    difference: float
    low: float
    high: float


class Measured(Part):
    """What was measured on a set."""

    label: str
    measure: str
    train: int
    dev: int
    test: int
    rows: dict[str, Row] = Field(default_factory=dict)
    alone: dict[str, Alone] = Field(default_factory=dict)


class Compilations(Part):
    """A measurement: what repeats it, and what was found on each set."""

    command: str
    date: str
    program: str
    lm: str
    sets: dict[str, Measured] = Field(default_factory=dict)

    def table(self) -> str:
        """Return the recipes on each set as a table."""
        rows = [
            [one.label, one.measure, str(one.test), recipe, *_figures(row), ", ".join(row.kept) or "–"]
            for one in self.sets.values()
            for recipe, row in one.rows.items()
        ]
        heads = ["questions", "metric", "n", "recipe", "before", "after", "difference", "p", "clauses kept"]
        return markdown_table(heads, rows)

    def clauses_table(self) -> str:
        """Return what each clause does alone, a column for each set."""
        names = dict.fromkeys(name for one in self.sets.values() for name in one.alone)
        heads = ["clause", *(f"{one.label}, {one.measure}, n = {one.train}" for one in self.sets.values())]
        rows = [
            [name, *(_change(one.alone[name]) if name in one.alone else "" for one in self.sets.values())]
            for name in names
        ]
        return markdown_table(heads, rows)


def _figures(row: Row) -> list[str]:
    return [f"{row.before:.1f}", f"{row.after:.1f}", _change(row), p_text(row.p)]


def _change(one: Row | Alone) -> str:
    return f"{one.difference:+.1f} [{one.low:+.1f}, {one.high:+.1f}]"


class Remembered:
    """A retriever that searches for a question once: the compilations of a set all ask the same questions."""

    def __init__(self, retriever: object) -> None:
        self.retriever = retriever
        self._found: dict[tuple[str, int], list[Passage]] = {}

    def search(self, query: str, k: int) -> list[Passage]:
        """Return what the retriever finds."""
        if (query, k) not in self._found:
            self._found[query, k] = self.retriever.search(query, k)  # type: ignore[attr-defined]
        return self._found[query, k]


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


def _run(program: dspy.Module, questions: Sequence[Question], folder: Path, models: Models) -> Run:
    return evaluate(program, questions, models=models, folder=folder, threads=2)


def measure(
    name: str,
    program: str,
    sets: Path,
    work: Path,
    sizes: tuple[int, int, int],
    recipes: Sequence[str],
    seed: int,
    *,
    alone: bool = True,
) -> Measured:
    """Compile a program by each recipe on a set, and measure each on test; also every clause alone on train."""
    about = SETS[name]
    train, dev, test = (part[:size] for part, size in zip(_parts(name, sets, sizes[0]), sizes, strict=True))
    ready = polyqa.load(program, index=about.index)
    ready.retriever = Remembered(ready.retriever)
    models = Models(lm="polyqa/extractive", prompt_lm="polyqa/proposer", judge=None)
    measured = Measured(label=about.label, measure=about.measure, train=len(train), dev=len(dev), test=len(test))
    before = _run(ready, test, work / name / "test-before", models)
    for recipe in recipes:
        plan = make_plan(recipe, Sets(train=train, dev=dev), models, measure=about.measure, seed=seed, threads=2)
        compiled = compile_program(ready, plan, work / name / recipe).program
        after = _run(compiled, test, work / name / f"test-{recipe}", models)
        found = compare_runs(before, after, headline=about.measure).metrics[about.measure]
        measured.rows[recipe] = Row(
            before=round(found.a, 2),
            after=round(found.b, 2),
            difference=round(found.difference, 2),
            low=round(found.low, 2),
            high=round(found.high, 2),
            p=round(found.p, 4),
            kept=_kept(ready, compiled, train),
        )
        typer.echo(f"{about.label}, {recipe}: {found.a:.1f} → {found.b:.1f}, {found}, p = {p_text(found.p)}", err=True)
    if not alone:
        return measured
    bare = _run(ready, train, work / name / "train-bare", models)
    for predictor_name, predictor in ready.named_predictors():
        for clause in _tried(predictor.signature, train):
            changed = ready.deepcopy()
            own = dict(changed.named_predictors())[predictor_name]
            own.signature = own.signature.with_instructions(f"{own.signature.instructions}\n{clause.text}")
            run = _run(changed, train, work / name / f"train-{clause.name}", models)
            one = compare_runs(bare, run, headline=about.measure).metrics[about.measure]
            measured.alone[f"{predictor_name}: {clause.name}"] = Alone(
                difference=round(one.difference, 2), low=round(one.low, 2), high=round(one.high, 2)
            )
    return measured


def _parts(name: str, folder: Path, train: int) -> list[list[Question]]:
    """Return train, dev and test; dev follows train in its file if the set has none of its own."""
    if name in ("homonyms", "years"):
        parts = [load_questions(f"homonyms/{part}") for part in ("train", "dev", "test")]
        return [answered_by_years(part) for part in parts] if name == "years" else parts
    every = load_questions(_file(folder, f"{name}-train"))
    return [every[:train], every[train:], load_questions(_file(folder, f"{name}-test"))]


def answered_by_years(questions: Sequence[Question]) -> list[Question]:
    """Return the questions that ask when, with the years of their answers alone: the same task, other labels."""
    return [
        replace(
            one,
            readings=tuple(
                replace(
                    reading,
                    short_answers=tuple({year: 0 for answer in reading.short_answers for year in years(answer)}),
                )
                for reading in one.readings
            ),
        )
        for one in questions
        if all(any(map(years, reading.short_answers)) for reading in one.readings)
        and one.question.lower().startswith("when")
    ]


def _file(folder: Path, stem: str) -> str:
    return str(next(path for path in (folder / f"{stem}.json", folder / f"{stem}.jsonl") if path.exists()))


def main(
    sets: Annotated[Path, typer.Option(help="The folder of the questions.")],
    only: Annotated[str, typer.Option(help="Names of sets, with commas between.")] = ",".join(SETS),
    recipes: Annotated[str, typer.Option(help="With commas between.")] = ",".join(RECIPES),
    program: Annotated[str, typer.Option(help="As for polyqa compile.")] = "rac",
    train: Annotated[int, typer.Option(min=12, help="Questions that demos and clauses come from.")] = 150,
    dev: Annotated[int, typer.Option(min=1, help="Questions that pick, where a recipe does.")] = 50,
    test: Annotated[int, typer.Option(min=2, help="Questions that are reported.")] = 200,
    alone: Annotated[bool, typer.Option(help="Also try every clause alone on train.")] = True,
    seed: Annotated[int, typer.Option(help="Of everything drawn.")] = 0,
    work: Annotated[Path, typer.Option(help="Where runs and compilations are kept.")] = Path("runs/compiling"),
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the tables as JSON.")] = None,
) -> None:
    """Measure what compiling brings."""
    done = Compilations(
        command=f"python -m lab.compiling --sets FOLDER --only {only} "
        f"--train {train} --dev {dev} --test {test} --program {program}{'' if alone else ' --no-alone'}",
        date=today(),
        program=program,
        lm="polyqa/extractive",
    )
    for name in only.split(","):
        done.sets[name] = measure(name, program, sets, work, (train, dev, test), recipes.split(","), seed, alone=alone)
        keep(done, json_file)
    typer.echo(f"{done.table()}\n\n{done.clauses_table()}")


if __name__ == "__main__":
    typer.run(main)
