"""Compiles a program by a recipe, and measures what it brought."""

import json
import random
import shutil
import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import dspy

from polyqa.artifacts.card import Spent
from polyqa.artifacts.identity import identity
from polyqa.artifacts.state import dump_program, load_program
from polyqa.base.errors import PolyqaError
from polyqa.base.files import write_atomically
from polyqa.base.ledger import differences
from polyqa.base.values import json_data
from polyqa.evaluation.comparison import Comparison, compare_runs
from polyqa.evaluation.identity import RunIdentity
from polyqa.evaluation.loading import questions_fingerprint
from polyqa.evaluation.runner import answer_one, run_answers
from polyqa.evaluation.runs import Run, read_identity
from polyqa.evaluation.scoring import Scorer
from polyqa.lm.assigned import describe_lm, with_cache
from polyqa.lm.recorder import counting
from polyqa.programs.knn import set_knn_demos
from polyqa.signatures import VerifyInterpretation, VerifyInterpretations, VerifyReadings
from polyqa.signatures.lookup import find_by_fields

from .calls import CallCounter, Meter, kept_calls
from .clauses import search_clauses
from .copied import Copied, copied_text
from .dspy_trials import Noticed, candidate_trials, compilation_trials
from .examples import PlainMetric
from .labels import NO_DEMOS, Demo, label_demos
from .plan import Plan, check_plan, check_recipe, check_teacher
from .pool import bootstrap_pool
from .teleprompters import run_teleprompter
from .trials import Trial, demo_counts

NO_GOOD_RUNS = (
    "None of the {} runs on training questions is good enough for a demo, and the recipe changes nothing: one scores "
    "{:g} or more, and all its replies could be read to their end. Mend the program, or take a lower threshold, a "
    "teacher or a recipe with labels."
)


@dataclass(frozen=True)
class Compiled:
    """A compiled program and what compiling brought and took.

    Attributes
    ----------
    program
        Ready to be called.
    before, after
        The runs of the uncompiled and the compiled program on dev.
    test_runs
        Those on test, if the plan has test questions.
    comparison
        ``after`` against ``before``.
    spent
        Calls, tokens and seconds of compiling and of the two runs on dev.
    trials
        What was tried: the program as it was first, the compiled one last, both with their scores on dev.
    copied
        What instructions and answers on dev repeat of the training questions.
    """

    program: dspy.Module
    before: Run
    after: Run
    comparison: Comparison
    spent: Spent
    trials: list[Trial]
    copied: Sequence[Copied] = ()
    test_runs: tuple[Run, Run] | None = None

    @property
    def runs(self) -> list[Run]:
        """All of them."""
        return [self.before, self.after, *(self.test_runs or ())]


def compile_program(program: dspy.Module, plan: Plan, work: str | Path, *, max_calls: int | None = None) -> Compiled:
    """Compile a program and score it on dev, and on test if there is one, before and after.

    Parameters
    ----------
    program
        Any program; it is not changed. Recipes that pick the nearest demos (`Recipe.k`) need predictors that can,
        `programs.KNNPredict` with an encoder. Predictors that have a language model of their own keep it.
    plan
        The questions, the recipe, the metric and the language models.
    work
        A folder for what a killed compilation needs to go on: call it again with the same arguments, but for a metric
        of your own, which may be another one. It may be deleted afterwards.
    max_calls
        Stop when so many calls of language models have gone out, those of stopped compilations in ``work``
        included.

    Raises
    ------
    PolyqaError
        If a question is in two sets, or has no reference answer that the measure needs; if the recipe needs a
        language model that writes and there is none, or does not fit the program; if the program gives no readings and
        these are measured; if ``work`` is of another compilation, or ``max_calls`` is reached.
    """
    check_plan(plan)
    check_recipe(plan.recipe, program)
    check_teacher(plan, program)
    work = Path(work)
    work.mkdir(parents=True, exist_ok=True)
    _check_same(work / "compilation.json", program, plan)
    plan = replace(
        plan,
        lm=plan.lm.copy(cache=True),
        prompt_lm=plan.writer.copy(cache=True),
        teacher=with_cache(plan.teacher, True) if plan.teacher is not None else None,
        teacher_lm=plan.teacher_lm.copy(cache=True) if plan.teacher_lm is not None else None,
    )
    program = with_cache(program, True)
    meter = Meter(work / "spent.json")
    test_runs = None
    with kept_calls(work, max_calls) as calls:
        with counting(meter):
            try:
                before = _score(program, plan, work / "before")
                _check_readings(before, plan)
                compiled, tried = _compile(program.deepcopy(), plan, calls)
                after = _score(compiled, plan, work / "after")
            finally:
                meter.write()
        spent = meter.spent  # the runs on test take no part in it
        if plan.testset:
            test_runs = (_score(program, plan, work / "test-before"), _score(compiled, plan, work / "test-after"))
    compared = compare_runs(before, after, headline=plan.column)
    # The second run finds in memory what the first one encoded and read: their seconds say nothing.
    metrics = {name: difference for name, difference in compared.metrics.items() if name != "seconds"}
    comparison = replace(compared, metrics=metrics)
    trials = compilation_trials(tried, (before, after), plan.column, compiled)
    copied = copied_text(program, compiled, plan.trainset, after.records)
    return Compiled(compiled, before, after, comparison, spent, trials, copied, test_runs)


def _check_readings(before: Run, plan: Plan) -> None:
    """Raise `PolyqaError` if a program gives no readings and they are what is measured: every candidate would get 0."""
    if plan.column == "f1_answer" and not any(record.interpretations or record.error for record in before.records):
        raise PolyqaError(
            "The program gave no readings (interpretations) to any question of dev, and the measure f1_answer scores "
            "nothing else. Take the measure disambig_f1, or a metric of your own."
        )


def _check_same(path: Path, program: dspy.Module, plan: Plan) -> None:
    """Check that what lies in a working folder was made by the same compilation; write down which one it is."""
    answering = RunIdentity.of(program, plan.lm)
    settings = {
        **{f"program.{name}": value for name, value in identity(program).items()},
        "train": questions_fingerprint(plan.trainset),
        "dev": questions_fingerprint(plan.devset),
        "recipe": plan.recipe.name,
        **{
            f"step {number}": step.model_dump(mode="json", exclude_defaults=True, exclude={"name", "summary"})
            for number, step in enumerate(plan.recipe.parts, 1)
        },
        "measure": plan.metric.measure,
        "reader": plan.metric.reader.name,
        **answering.model_dump(include={"lm", "lm_settings", "own_lms", "adapter"}),
        "prompt_lm": json_data(describe_lm(plan.writer)),
        **({"teacher": identity(plan.teacher)} if plan.teacher is not None else {}),
        **({"teacher_lm": json_data(describe_lm(plan.teacher_lm))} if plan.teacher_lm is not None else {}),
        "seed": plan.seed,
    }
    check_work(path, settings, "compilation")


def check_work(path: Path, settings: dict[str, Any], kind: str) -> None:
    """Write down what a working folder belongs to; raise `PolyqaError` if something else is written there."""
    if not path.exists():
        write_atomically(path, json.dumps(settings, ensure_ascii=False, indent=1) + "\n")
    elif changed := differences(json.loads(path.read_text(encoding="utf-8")), settings):
        raise PolyqaError(f"{path.parent} is of another {kind}: {changed}. Remove it, or choose another folder.")


def _compile(program: dspy.Module, plan: Plan, calls: CallCounter) -> tuple[dspy.Module, list[list[Trial]]]:
    """Run the steps of a recipe; return the compiled program and what each step tried.

    After a stop every step is run again, and asks nothing again: the replies are kept.
    """
    tried = []
    for step in plan.recipe.parts:
        compiled, trials = _step(program, replace(plan, recipe=step))
        if isinstance(plan.metric, PlainMetric):
            plan.metric.check()
        calls.check()  # a program that was made while calls were refused must not be taken for what the step makes
        tried.append(trials)
        # What an optimizer leaves on a program beside its state, such as a score, is nothing that is saved.
        load_program(program, dump_program(compiled), step.name)
        program._compiled = False  # by an optimizer; else a module around it would not save it
    return program, tried


def _step(program: dspy.Module, plan: Plan) -> tuple[dspy.Module, list[Trial]]:
    """Return a program compiled by a recipe that is no chain, maybe the one that was given, and what was tried."""
    match plan.recipe.optimizer:
        case "labels":
            labelled = label_demos(program, plan.trainset)
            if not any(map(labelled.get, plan.recipe.predictors or labelled)):
                warnings.warn(NO_DEMOS, stacklevel=2)
            return _show(program, labelled, plan), []
        case "own-runs":
            pools = bootstrap_pool(
                plan.teacher or program,
                plan.trainset,
                lm=plan.teacher_lm or plan.lm,
                metric=plan.metric_of_recipe(),
                threads=plan.threads,
            )
            if not any(pools.values()):
                _warn_of_no_good_runs(plan)
            return _show(program, pools, plan), []
        case "clauses":
            return search_clauses(program, plan)
        case _:
            noticed = Noticed()
            with dspy.context(lm=plan.lm, callbacks=[*(dspy.settings.callbacks or ()), noticed]):
                compiled = run_teleprompter(program, plan, [noticed])
            unchanged = not demo_counts(compiled) and dump_program(compiled) == dump_program(program)
            if plan.recipe.optimizer == "BootstrapFewShot" and unchanged:
                _warn_of_no_good_runs(plan)
            return compiled, candidate_trials(program, compiled, plan, noticed)


def _warn_of_no_good_runs(plan: Plan) -> None:
    warnings.warn(NO_GOOD_RUNS.format(len(plan.trainset), plan.recipe.threshold), stacklevel=3)


# Not Tree of Clarifications' and Self-RAG's judgements: theirs are of one passage.
_VERIFICATIONS = dict.fromkeys((VerifyInterpretation, VerifyInterpretations, VerifyReadings), True)


def shown_demos(program: dspy.Module) -> list[str]:
    """Return the predictors that get demos if a recipe names none.

    Verification is not among them: it is zero-shot in DIVA (Table 9), and its demos, each with passages, cost more
    than all others together.
    """
    return [
        name
        for name, predictor in program.named_predictors()
        if not find_by_fields(_VERIFICATIONS, predictor.signature.input_fields, predictor.signature.output_fields)
    ]


def _show(program: dspy.Module, pools: dict[str, list[Demo]], plan: Plan) -> dspy.Module:
    """Give the predictors their demos; those that the recipe leaves out keep theirs."""
    recipe = plan.recipe
    names = recipe.predictors or shown_demos(program)
    chosen = {name: pool for name, pool in pools.items() if name in names}
    if recipe.k is None:
        draw, signatures = random.Random(plan.seed), dict(program.named_predictors())
        chosen = {
            name: drawn_demos(pool, recipe.shown, draw, signatures[name].signature.output_fields)
            for name, pool in chosen.items()
        }
    set_knn_demos(program, {name: pool for name, pool in chosen.items() if pool}, recipe.k)
    return program


def drawn_demos(pool: Sequence[Demo], shown: int, draw: random.Random, outputs: Collection[str]) -> list[Demo]:
    """Return as many demos of a pool as are shown, drawn so that four of five have several readings.

    A small language model gives about as many readings as the demos before it. Qwen2.5-Coder-1.5B, shown five of them
    with 126 questions, answered ambiguous questions by 1.4, 2.9 and 3.7 readings, and plain ones by 1.0, 1.3 and 2.1,
    where three, four and five of the demos had several; ambiguous questions have 2.7 (`lab/log.md`).

    Parameters
    ----------
    pool
        Where it has too few demos of one kind, more of the other are drawn.
    outputs
        The predictor's output fields: passages, too, are a list.
    """
    if len(pool) <= shown:
        return list(pool)
    has_several = [
        any(isinstance(value := demo.get(name), list) and len(value) > 1 for name in outputs) for demo in pool
    ]
    several = sum(has_several)
    target = max(min(shown - shown // 5, several), shown - (len(pool) - several))
    chosen = draw.sample(range(len(pool)), shown)
    surplus = sum(has_several[at] for at in chosen) - target
    left_out = [at for at in chosen if has_several[at] == (surplus > 0)][: abs(surplus)]
    spares = [at for at in range(len(pool)) if at not in chosen and has_several[at] != (surplus > 0)]
    instead = dict(zip(left_out, draw.sample(spares, len(left_out)), strict=True))
    return [pool[instead.get(at, at)] for at in chosen]


def _score(program: dspy.Module, plan: Plan, folder: Path) -> Run:
    """Run a program over the questions that the folder's name says, dev or test."""
    name, questions = ("test", plan.testset) if folder.name.startswith("test") else ("dev", plan.devset)
    identity = RunIdentity.of(
        program,
        plan.lm,
        reader=plan.metric.reader.name,
        questions=f"{name} ({questions_fingerprint(questions)})",
        n=len(questions),
    )
    earlier, own_metric = read_identity(folder), plan.metric if isinstance(plan.metric, PlainMetric) else None
    # Where a reply had failed, another program comes out; and a function of the user's own may be another one by now.
    if earlier is not None and (own_metric is not None or identity.changed_since(earlier)):
        shutil.rmtree(folder)
    answer = partial(answer_one, program, lm=plan.lm, scorer=Scorer(plan.metric.reader), metric=own_metric)
    run = run_answers(answer, questions, folder=folder, identity=identity, threads=plan.threads)
    if own_metric is not None:
        own_metric.check()
    return run
