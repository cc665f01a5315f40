"""Compiles a program by names and saves the artifact."""

import datetime
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dspy

from polyqa import loading
from polyqa.artifacts.card import MOST_NAME, Card, DataCard, Figure, Gain, IndexCard, check_settings
from polyqa.artifacts.scores import QuestionScores, SetScores
from polyqa.artifacts.state import dump_program, signature_fingerprints
from polyqa.artifacts.store import CARD, find_artifact, read_artifact, save_artifact
from polyqa.base.errors import PolyqaError
from polyqa.base.files import require_no_links
from polyqa.base.values import json_data
from polyqa.evaluation.columns import COLUMNS
from polyqa.evaluation.comparison import difference_in
from polyqa.evaluation.loading import questions_fingerprint
from polyqa.evaluation.records import column_scores
from polyqa.evaluation.runs import Run
from polyqa.evaluation.statistics import estimate
from polyqa.extractive import MODEL_NAME
from polyqa.lm.adapter import adapter_name
from polyqa.lm.assigned import names_of, own_lms, sampling
from polyqa.metrics.optimizing import AnswerMetric, Measure
from polyqa.models import EMBEDDED_ENCODER
from polyqa.optimizers.calls import remove_work
from polyqa.optimizers.compiler import Compiled, compile_program
from polyqa.optimizers.plan import Plan, check_measurable, check_plan, check_recipe, check_teacher, check_writer
from polyqa.optimizers.recipes import Recipe
from polyqa.optimizers.recipes import recipe as recipe_by_name
from polyqa.programs import PROGRAMS
from polyqa.programs.registry import registered
from polyqa.reports.compilation import compilation_report
from polyqa.reports.readme import artifact_readme

from .costing import Estimate, cost
from .language_models import LOCAL, Models, default_threads, ready_reader, shared_reader
from .loading import default_program
from .question_sets import Sets
from .tracing import job


@dataclass(frozen=True)
class Budget:
    """What a long command may take, and what it is tried with.

    Attributes
    ----------
    max_calls
        Upper limit on LM calls, counted across stopped runs for the same ``out``. When it is reached, work stops.
    threads
        Questions at once; if not given 2 for the embedded engine, which shares this machine's cores, as many as a local
        model has slots, else 8.
    seed
        Of every random choice (picking the nearest demos and COPRO make none).
    confirm
        Is shown what it is expected to take (`polyqa.costing.Estimate`) before it starts; ``False`` stops it, and
        ``None`` is returned.
    """

    max_calls: int | None = None
    threads: int | None = None
    seed: int = 0
    confirm: Callable[[object], bool] = lambda what: True

    def __post_init__(self) -> None:
        """Refuse what nothing can be done with."""
        if self.threads is not None and self.threads < 1:
            raise PolyqaError(f"threads is at least 1, not {self.threads}.")
        if self.seed < 0:
            raise PolyqaError(f"seed is a whole number from 0 on, not {self.seed}: MIPROv2 and SIMBA take no other.")


@dataclass(frozen=True)
class Teacher:
    """What answers the training questions whose good runs become demos, where that is not the program itself.

    Attributes
    ----------
    program
        A compiled program, by name or folder, that has the same predictors: one whose runs are better than those of
        the program that is compiled.
    lm
        A language model, by name or as an object: a large one that shows a small one how it is done.
    """

    program: str | None = None
    lm: str | dspy.LM | None = None

    @classmethod
    def named(cls, name: str | None) -> "Teacher":
        """Return the teacher of a name, which is that of a compiled program or else of a language model.

        >>> Teacher.named("openai/gpt-5-mini"), Teacher.named("rac-homonyms-local")
        (Teacher(program=None, lm='openai/gpt-5-mini'), Teacher(program='rac-homonyms-local', lm=None))
        """
        if name is None:
            return cls()
        folder = Path(name).parent
        is_lm = name in (LOCAL, MODEL_NAME) or ("/" in name and not (folder.is_absolute() or folder.is_dir()))
        return cls(lm=name) if is_lm else cls(program=name)


@dataclass(frozen=True)
class Made:
    """A saved artifact: its folder, its card, and the compiled program with its runs."""

    path: Path
    card: Card
    compiled: Compiled

    @property
    def test_runs(self) -> tuple[Run, Run] | None:
        """Those of the uncompiled and the compiled program on test, if test questions were given."""
        return self.compiled.test_runs

    @property
    def failed(self) -> int:
        """How many questions failed in its runs; the same command asks them again."""
        return sum(run.failed for run in self.compiled.runs)


def compile(
    program: str | None = None,
    *,
    out: str | Path,
    recipe: str | Recipe = "knn",
    sets: Sets = Sets(),
    models: Models | str | dspy.LM = Models(),
    measure: Measure = "dr",
    budget: Budget = Budget(),
    teacher: Teacher = Teacher(),
    **settings: Any,
) -> Made | None:
    """Compile a program, measure what it brought, and save it.

    Parameters
    ----------
    program
        A name of `polyqa.programs.registry.REGISTRY`; not a compiled program, whose card could not tell what made it.
        If not given `polyqa.loading.default_program`.
    out
        The artifact's folder. What a stopped compilation needs to go on lies in ``<out>/.work`` until it is done.
    recipe
        A name of `polyqa.optimizers.RECIPES`, or a recipe, such as one with another threshold or for some
        predictors only (`Recipe.with_options`).
    sets
        The questions.
    models
        What runs the program, helps it and writes instructions, and the reader of the metric.
    measure
        What is optimized, see `polyqa.metrics.optimizing.AnswerMetric`.
    budget
        What it may take.
    teacher
        For recipes that make demos of runs.
    settings
        See `polyqa.load`; no ``demos``. They are kept in the artifact, which is loaded with the
        same, but for ``questions``; an encoder, and a reranker other than ``reader``, must be named again.

    Raises
    ------
    PolyqaError
        If something given is missing or does not fit, or the limit of calls is reached.
    """
    models = Models.of(models)
    out = Path(out)
    require_free(out)
    program = default_program(models.chosen_lm) if program is None else program
    name = out.resolve().name  # also of ".", which has none
    with job("compile", name, trace=False) as results:
        loading_settings, program_settings = _checked_settings(program, settings)
        data = sets.by_name()
        plan = make_plan(recipe, Sets(**data), models, measure=measure, seed=budget.seed, threads=budget.threads)
        student = loading.load(program, **{"helper_lm": models.helping(), **settings})
        check_recipe(plan.recipe, student)
        plan = _taught(plan, student, teacher, models, settings)
        loading.warm_up(student, plan.lm)
        ready_reader(models.reader)
        work = out / ".work"
        if not budget.confirm(expected_cost(student, plan)):
            return None
        compiled = compile_program(student, plan, work, max_calls=budget.max_calls)
        test_runs = compiled.test_runs
        cards = {
            name: DataCard(
                source=question_set.described[:MOST_NAME],
                n=len(question_set.asked),
                fingerprint=questions_fingerprint(question_set.asked),
            )
            for name, question_set in data.items()
        }
        encoder = loading_settings.get("encoder", EMBEDDED_ENCODER)
        card = _card(
            student,
            plan,
            compiled,
            cards,
            name=name,
            program=program,
            settings={**program_settings, "preset": student.preset},
            reranker=loading_settings.get("reranker") if "index" in registered(program).needs else None,
            encoder=getattr(encoder, "name", encoder),
            test_gain=_gain(*test_runs, measure, cards["test"]) if test_runs else None,
            teacher=teacher.program,
            teacher_lm=str(plan.teacher_lm.model) if plan.teacher_lm is not None else None,
        )
        readme = artifact_readme(card, dump_program(compiled.program), out)
        report = compilation_report(card, student, compiled)
        scores = QuestionScores(
            dev=_scores(compiled.before, compiled.after, measure),
            test=_scores(*test_runs, measure) if test_runs else None,
        )
        place = save_artifact(compiled.program, card, out, readme, report, scores.to_text())
        compilation = Made(place, card, compiled)
        parameters = card.model_dump(mode="json", exclude={"signatures", "dev_gain", "test_gain", "spent"})
        results.add(parameters=parameters, figures=_figures(card), files=compilation.path)
        if not compilation.failed:
            remove_work(work)
        return compilation


def require_free(out: Path) -> None:
    """Refuse a file, a folder with a link in it, and one whose result would be replaced; what was stopped goes on."""
    require_no_links(out)
    if (file := next(place for place in (out, *out.absolute().parents) if place.exists())).is_file():
        raise PolyqaError(f"{file} is a file, and {out} is to be a folder; name another one.")
    if not (out / ".work").exists() and (out / CARD).exists():
        card = read_artifact(out).card
        raise PolyqaError(
            f"{out} holds a compiled program already ({card.program}, by the recipe {card.recipe.get('name')}, on "
            f"{card.train.source}). Choose another folder, or remove it."
        )


def _figures(card: Card) -> dict[str, float]:
    """Return what compiling brought and took, by name."""
    figures = {f"spent.{name}": float(value) for name, value in card.spent.model_dump().items()}
    for name, gain in card.gains.items():
        values = gain.model_dump(include={"difference", "low", "high", "p"})
        values |= {"before": gain.before.value, "after": gain.after.value, "n": float(gain.before.n)}
        figures |= {f"{name}.{gain.metric}.{key}": value for key, value in values.items() if value is not None}
    return figures


def _checked_settings(program: str, settings: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what `polyqa.load` takes beside a program's own settings, and those, if a card can tell of them."""
    check_program(program)
    parts, own_settings = loading.split_settings(settings)
    if "demos" in parts:
        raise PolyqaError("compile takes no demos: it begins with a program as it is, so that the card can tell how.")
    check_settings(own_settings)
    loading.check_settings(program, own_settings)
    return parts, own_settings


def _taught(plan: Plan, student: dspy.Module, teacher: Teacher, models: Models, settings: Mapping[str, Any]) -> Plan:
    """Return a plan with its teacher, which searches where the student does."""
    searching = {name: settings[name] for name in ("index", "where", "reranker", "encoder") if name in settings}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r".* was compiled over the index .*")  # its demos are not kept
        program = loading.load(teacher.program, helper_lm=models.helping(), **searching) if teacher.program else None
    lm = replace(models, helper_lm=teacher.lm).helping()  # like a helper it has an address of its own
    plan = replace(plan, teacher=program, teacher_lm=lm)
    check_teacher(plan, student)
    return plan


def _card(student: dspy.Module, plan: Plan, compiled: Compiled, data: dict[str, DataCard], **other_fields: Any) -> Card:
    opened = loading.index_of(student)
    measure = plan.metric.measure
    return Card(
        signatures=signature_fingerprints(compiled.program),
        recipe={**plan.recipe.model_dump(mode="json"), "seed": plan.seed},
        measure=measure,
        threshold=plan.recipe.demo_threshold,
        reader=plan.metric.reader.name,
        train=data["train"],
        dev=data["dev"],
        lm=str(plan.lm.model),
        helper_lm=names_of(own_lms(student)),
        lm_settings=json_data(sampling(plan.lm)),
        prompt_lm=str(plan.writer.model) if plan.recipe.writes else None,
        adapter=adapter_name(),
        index=None
        if opened is None
        else IndexCard(
            name=opened.name, fingerprint=opened.fingerprint, passages=len(opened), condition=opened.condition
        ),
        versions={package: version(package) for package in ("polyqa", "dspy")},
        spent=compiled.spent,
        dev_gain=_gain(compiled.before, compiled.after, measure, data["dev"]),
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        **other_fields,
    )


def make_plan(
    recipe: str | Recipe,
    sets: Sets = Sets(),
    models: Models = Models(),
    *,
    measure: Measure = "dr",
    seed: int = 0,
    threads: int | None = None,
) -> Plan:
    """Return how a program is compiled, from names; see `compile`, also for its errors."""
    check_measurable(measure, {})
    lm = models.answering()
    writer = models.writing(lm)
    chosen = chosen_recipe(recipe, writer)
    data = {name: questions.asked for name, questions in sets.by_name().items()}
    plan = Plan(
        trainset=data["train"],
        devset=data["dev"],
        testset=data.get("test", ()),
        recipe=chosen,
        metric=AnswerMetric(shared_reader(models.reader), measure=measure, threshold=chosen.threshold),
        lm=lm,
        prompt_lm=writer,
        seed=seed,
        threads=default_threads(lm) if threads is None else threads,
    )
    check_plan(plan)
    return plan


def check_program(program: object) -> None:
    """Refuse what is no name of a program, or compiled already; an unknown name is left to `polyqa.load`."""
    if not isinstance(program, str):
        raise PolyqaError(
            "An artifact is loaded by the name of a program, so polyqa.compile takes names only. Compile a "
            f"{type(program).__name__} with polyqa.optimizers.compile(program, Plan.of(train, dev, metric), folder)."
        )
    if program in PROGRAMS or find_artifact(program) is None:
        return
    raise PolyqaError(
        f"{program} is compiled already, and a card could not tell of both compilations. Compile "
        f"{read_artifact(program).card.program!r:.80} again; for one step after the other take a recipe of steps, such "
        "as gepa-then-knn, or a Recipe of the optimizer 'chain'."
    )


def chosen_recipe(recipe: str | Recipe, writer: dspy.LM) -> Recipe:
    """Return a recipe, by name or as it is, whose instructions a language model can write; else raise `PolyqaError`."""
    chosen = recipe_by_name(recipe) if isinstance(recipe, str) else recipe
    check_writer(chosen, str(writer.model))
    return chosen


def expected_cost(program: dspy.Module, plan: Plan) -> Estimate:
    """Return what compiling is expected to take: the runs on dev and test before and after, those on train for demos.

    Each is taken to be like a run on the training question with the most readings. How often DSPy's optimizers and a
    search over clauses run the program depends on what they find, and is left to ``max_calls``. Which demos there will
    be, and how long they make prompts, is not known either.
    """
    richest = max(plan.trainset, key=lambda question: len(question.readings))
    measuring_runs, teaching_runs = 2 * (len(plan.devset) + len(plan.testset)), plan.recipe.runs(len(plan.trainset))
    each = cost(program, [richest], lm=plan.lm)
    parts = [(measuring_runs + teaching_runs, each)]
    if teaching_runs and (plan.teacher or plan.teacher_lm):
        teacher, lm = plan.teacher or program, plan.teacher_lm or plan.lm
        parts = [(measuring_runs, each), (teaching_runs, cost(teacher, [richest], lm=lm))]
    searches = ", ".join(plan.recipe.searches)
    left_out = ["the tokens of demos in later prompts"] if plan.recipe.shows_demos else []
    left_out += [f"the runs of {searches}, which --max-calls limits"] if searches else []
    return Estimate(parts, " and ".join(left_out))


def _gain(before: Run, after: Run, measure: Measure, data: DataCard) -> Gain:
    change = difference_in(before, after, measure)
    return Gain(
        metric=measure,
        before=_figure(before, measure),
        after=_figure(after, measure),
        difference=round(change.difference, 3),
        low=_finite(change.low),
        high=_finite(change.high),
        p=round(change.p, 4),
        data=data,
        failed_before=before.failed,
        failed_after=after.failed,
    )


def _scores(before: Run, after: Run, measure: str) -> SetScores:
    def of(run: Run) -> dict[str, list[float | None]]:
        names = COLUMNS[measure].scores
        columns = zip(names, column_scores(run.records, names), strict=True)
        return {name: [one if math.isfinite(one) else None for one in values.tolist()] for name, values in columns}

    return SetScores(ids=[record.id for record in after.records], before=of(before), after=of(after))


def _figure(run: Run, measure: Measure) -> Figure:
    column = COLUMNS[measure]
    value = estimate(column, column_scores(run.records, column.scores))
    assert value is not None, f"{run.path} was evaluated by {measure}"
    return Figure(value=round(value.value, 3), low=_finite(value.low), high=_finite(value.high), n=value.n)


def _finite(value: float) -> float | None:
    return round(value, 3) if math.isfinite(value) else None
