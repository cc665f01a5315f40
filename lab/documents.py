"""What stands in the marked parts of the documents, each from its source."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import typer
from typer.cli import get_docs_for_click

import polyqa
from polyqa.artifacts.card import Gain
from polyqa.artifacts.store import artifact_names, read_artifact
from polyqa.base.errors import PolyqaError
from polyqa.base.text import with_interval
from polyqa.cli import app
from polyqa.colbert_index import read_corpus
from polyqa.evaluation.columns import COLUMNS
from polyqa.evaluation.homonyms import SPLITS, corpus_path
from polyqa.evaluation.loading import load_questions
from polyqa.evaluation.tables import amount_text, markdown_table
from polyqa.extractive.clauses import CLAUSES
from polyqa.lesson_files import lessons
from polyqa.optimizers.clauses import LIBRARY, Candidate
from polyqa.optimizers.recipes import RECIPES
from polyqa.programs.registry import REGISTRY

from .results import HOME, Change, Summary, read_measured, read_results

_QUALITY = ("disambig_f1", "rouge_l", "str_em", "mrecall@5", "g_precision", "g_recall")
_CONFLICTS = ("strict_exact_match", "wrong_told", "conflicts_shown", "noise_cited")  # of sets with wrong documents
_FEW = 2  # commands: options of more are shown once
_LONG_NAME = re.compile(r"--[\w-]+")
_AMOUNTS = ("readings", "length", "calls", "input_tokens", "output_tokens")


def programs() -> str:
    """Return the programs, as the registry has them."""
    rows = (
        [
            f"`{name}`",
            entry.calls,
            entry.summary,
            f"[{entry.paper}]({entry.url})" if entry.url else entry.paper,
        ]
        for name, entry in REGISTRY.items()
    )
    return markdown_table(["program", "LM calls a question", "what it does", "published by"], rows)


def lesson_table() -> str:
    """Return the lessons: what each is called, what one can do afterwards, how long it takes."""
    rows = (
        [str(lesson.number), f"[{lesson.title}]({lesson.path.name})", lesson.learns, str(lesson.minutes)]
        for lesson in lessons()
    )
    return markdown_table(["", "lesson", "afterwards you can", "minutes"], rows)


def program_classes() -> str:
    """Return one heading per program, under which mkdocstrings puts its class."""
    return "\n\n".join(
        f"## `{name}`\n\n::: {entry.program.__module__}.{entry.program.__name__}\n    options:\n      heading_level: 3"
        for name, entry in REGISTRY.items()
    )


def python() -> str:
    """Return the public names, each of which mkdocstrings replaces by its documentation."""
    return "\n\n".join(f"::: polyqa.{name}" for name in polyqa.__all__)


def recipes() -> str:
    """Return the recipes."""
    rows = (
        [f"`{name}`", recipe.summary, "yes" if recipe.writes else "no", "yes" if recipe.gathers else "no"]
        for name, recipe in RECIPES.items()
    )
    return markdown_table(["recipe", "what it does", "a model writes instructions", "own runs become demos"], rows)


def clauses_obeyed() -> str:
    """Return the clauses that the embedded engine knows."""
    rows = ([clause.meaning, f"*{clause.wordings[0]}*"] for clause in CLAUSES)
    return markdown_table(["what it does", "such as"], rows)


def clauses_library() -> str:
    """Return the clauses that a search tries, each once, with the steps that it is for."""
    tasks: dict[Candidate, list[str]] = {}
    for task, candidates in LIBRARY.items():
        for clause in candidates:
            tasks.setdefault(clause, []).append(f"`{task.__name__}`")
    rows = ([clause.text, clause.group, clause.purpose, ", ".join(names)] for clause, names in tasks.items())
    return markdown_table(["clause", "of one kind", "when it helps", "for"], rows)


def columns() -> str:
    """Return the figures that a run is told by."""
    better = {True: "higher is better", False: "lower is better", None: ""}
    rows = (
        [f"`{name}`", column.label, column.meaning, better[column.higher_is_better]] for name, column in COLUMNS.items()
    )
    return markdown_table(["name", "in tables", "what it is", ""], rows)


def commands() -> str:
    """Return every command with its options, as ``--help`` tells them; last, once, those of several commands."""
    command = typer.main.get_command(app)
    for subcommand in _every(command):
        subcommand.short_help = subcommand.get_short_help_str(limit=200)  # the default of 45 cuts most of them
    lines = get_docs_for_click(obj=command, ctx=typer.Context(command), indent=1, name="polyqa").strip().splitlines()
    counts = Counter(line for line in lines if line.startswith("* `-"))
    shared = [line for line, count in counts.items() if count > _FEW]
    documented, names = list[str](), list[str]()
    for line in [*lines, ""]:
        if line in shared:
            names += _LONG_NAME.findall(line)[:1]
            continue
        if not line and names:  # the list of a command's options ends
            documented.append(f"* [As in other commands](#options-of-several-commands): `{'`, `'.join(names)}`")
            names.clear()
        documented.append(line)
    return "\n".join([*documented, "## Options of several commands", "", *shared])


def _every(command: Any) -> Iterator[Any]:
    yield command
    for subcommand in getattr(command, "commands", {}).values():
        yield from _every(subcommand)


def corpus() -> str:
    """Return how large the shipped corpus is."""
    splits = {split: load_questions(f"homonyms/{split}") for split in SPLITS}
    counts = [len(question.readings) for questions in splits.values() for question in questions]
    sizes = ", ".join(f"{split} {len(questions)}" for split, questions in splits.items())
    return (
        f"{len(read_corpus(corpus_path()))} passages and {len(counts)} questions ({sizes}), "
        f"{sum(count > 1 for count in counts)} of them ambiguous with up to {max(counts)} readings"
    )


def compiled() -> str:
    """Return the shipped artifacts with what compiling brought, from their cards."""

    def told(gain: Gain | None) -> str:
        if gain is None:
            return "–"
        return f"{gain.before.value:.1f} → {gain.after.value:.1f}, {gain.change}, {_p(gain.p)}, n = {gain.before.n}"

    cards = [read_artifact(name).card for name in artifact_names()]
    rows = (
        [*(f"`{name}`" for name in (card.name, card.program, card.recipe["name"])), card.lm]
        + [COLUMNS[card.measure].label]
        + [told(gain) for gain in (card.dev_gain, card.test_gain)]
        for card in cards
    )
    return markdown_table(["name", "program", "recipe", "language model", "measure", "dev", "test"], rows)


def answers(name: str) -> str:
    """Return the runs of a file of results, best DR first, with what they were made with."""
    results = read_results(name)
    first = results.runs[0]
    listed = (*_CONFLICTS, *_QUALITY, *_AMOUNTS)
    metrics = [metric for metric in listed if any(metric in run.metrics for run in results.runs)]
    heads = ["program", "DR", f"against {results.baseline}", *(COLUMNS[metric].label for metric in metrics)]
    runs = sorted(results.runs, key=lambda run: -run.dr.value)
    models = {run.settings.lm for run in runs}
    rows = (
        [f"`{run.settings.program}`" + f", {run.settings.lm}" * (len(models) > 1), str(run.dr), _change(run.change)]
        + [_amount(metric, run) if metric in run.metrics else "–" for metric in metrics]
        for run in runs
    )
    setting = (
        f"{first.settings.questions}; index {_several(run.settings.index for run in results.runs)}; "
        f"language model {_several(run.settings.lm for run in results.runs)}; reader {first.settings.reader}; judge "
        f"{first.settings.judge or 'none'}; {sum(run.failed for run in results.runs)} failed; "
        f"{_several(run.date for run in results.runs)}."
    )
    command = first.command.replace(f"--program {first.settings.program} ", "--program PROGRAM ")
    return f"{setting}\n\n```sh\n{command}\n```\n\n{markdown_table(heads, rows)}"


def _amount(metric: str, run: Summary) -> str:
    """Return a figure; strict EM, which is a share of the questions, with Wilson's interval."""
    value = run.metrics[metric]
    if metric != _CONFLICTS[0]:
        return amount_text(metric, value)
    from scipy.stats import binomtest

    interval = binomtest(round(value / 100 * run.n), run.n).proportion_ci(method="wilson")
    return with_interval(value, 100 * interval.low, 100 * interval.high)


def _several(values: Iterable[str | None]) -> str:
    return ", ".join(sorted({value for value in values if value})) or "none"


def _change(change: Change | None) -> str:
    if change is None:
        return "–"
    return f"{with_interval(change.difference, change.low, change.high, '+')}, {_p(change.p)}"


def _p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.{2 if p >= 0.01 else 3}f}"


def part(name: str, *arguments: str) -> str:
    """Return what a marked part holds: one of `PARTS`, or a measurement, named by its file in `lab/results/`.

    Parameters
    ----------
    name, arguments
        As they stand in the mark. A measurement takes the name of one of its tables; without one it is shown whole.

    Raises
    ------
    PolyqaError
        If there is no such part.
    """
    if name in PARTS:
        return PARTS[name](*arguments)
    if (HOME / f"{name}.json").is_file():
        return read_measured(name).markdown(*arguments)
    raise PolyqaError(f"No figure is called {name!r}; there are {', '.join(PARTS)}, and the files of {HOME.name}/.")


PARTS: Mapping[str, Callable[..., str]] = MappingProxyType(
    {
        "answers": answers,
        "clauses-library": clauses_library,
        "clauses-obeyed": clauses_obeyed,
        "columns": columns,
        "commands": commands,
        "compiled": compiled,
        "corpus": corpus,
        "lessons": lesson_table,
        "program-classes": program_classes,
        "programs": programs,
        "python": python,
        "recipes": recipes,
    }
)
"""By the name of the part; words behind the name in a document are arguments."""
