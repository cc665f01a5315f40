"""Compiles a program by a recipe, and measures what it brought."""

import json
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import dspy

from polyqa.artifacts.card import Spent
from polyqa.artifacts.state import dump_program, load_program, program_hash
from polyqa.evaluation.comparison import Comparison, compare_runs
from polyqa.evaluation.loading import questions_fingerprint
from polyqa.evaluation.progress import Progress, silent
from polyqa.evaluation.runner import evaluate
from polyqa.evaluation.runs import Run, RunSettings, write_atomically
from polyqa.evaluation.scoring import Scorer
from polyqa.metrics.gold import Question
from polyqa.metrics.optimizing import AnswerMetric
from polyqa.programs.knn import set_knn_demos
from polyqa.signatures import PolyqaError

from .calls import CallCounter, kept_calls
from .checks import check_measurable, check_recipe, check_writer
from .labels import label_demos
from .meter import Meter
from .pool import Demo, bootstrap_pool
from .recipe import Recipe
from .splits import check_disjoint
from .teleprompters import run_teleprompter


@dataclass(frozen=True)
class Compiled:
    """A compiled program and what compiling brought and took.

    Attributes
    ----------
    program
        Ready to be called.
    before, after
        The runs of the uncompiled and the compiled program on dev.
    comparison
        ``after`` against ``before``.
    spent
        Calls, tokens and seconds of compiling and of the two runs.
    """

    program: dspy.Module
    before: Run
    after: Run
    comparison: Comparison
    spent: Spent


def compile(
    program: dspy.Module,
    trainset: Sequence[Question],
    devset: Sequence[Question],
    recipe: Recipe,
    *,
    metric: AnswerMetric,
    lm: dspy.LM,
    prompt_lm: dspy.LM | None = None,
    work: str | Path,
    seed: int = 0,
    threads: int = 8,
    max_calls: int | None = None,
    progress: Callable[[int], Progress] = silent,
) -> Compiled:
    """Compile a program and score it on dev, before and after.

    Parameters
    ----------
    program
        Any program; it is not changed. Recipes that pick the nearest demos (`Recipe.k`) need predictors that can,
        `programs.KNNPredict` with an encoder.
    trainset
        Demos come from here, and only from here.
    devset
        Shares no question with the trainset. It scores, and picks among candidates where the recipe does.
    recipe
        See `recipes.RECIPES`.
    metric
        What is optimized. Its threshold is replaced by the recipe's.
    lm
        Runs the program.
    prompt_lm
        Writes instructions; ``lm`` if not given.
    work
        A folder for what a killed compilation needs to go on: call it again with the same arguments. It
        may be deleted afterwards.
    seed, threads
        Of every random choice (picking the nearest demos and COPRO make none), and questions at once.
    max_calls
        Stop when so many calls of language models have gone out, those of stopped compilations in ``work``
        included.
    progress
        Shows the runs over questions.

    Raises
    ------
    PolyqaError
        If a question is in both sets, or has no reference answer that the measure needs; if the recipe needs a
        language model that writes and there is none, or does not fit the program; if ``work`` is of another
        compilation, or ``max_calls`` is reached.
    """
    check_disjoint({"the trainset": trainset, "the devset": devset})
    writer = prompt_lm or lm
    check_writer(recipe, str(writer.model))
    if not trainset or not devset:
        raise PolyqaError("Compiling needs training and development questions; one of the sets is empty.")
    check_recipe(recipe, program, len(trainset))
    scored = {"the trainset": trainset} if recipe.runs_train else {}
    check_measurable(metric.measure, {**scored, "the devset": devset})
    work = Path(work)
    work.mkdir(parents=True, exist_ok=True)
    _check_same(work / "compilation.json", program, trainset, devset, recipe, metric, lm, writer, seed)
    meter = Meter(work / "spent.json")
    started = time.perf_counter()
    with kept_calls(work, max_calls) as calls, dspy.context(callbacks=[*(dspy.settings.callbacks or ()), meter]):
        try:
            context = _Context(
                trainset=trainset,
                devset=devset,
                metric=metric,
                lm=lm.copy(cache=True),
                prompt_lm=writer.copy(cache=True),
                work=work,
                seed=seed,
                threads=threads,
                progress=progress,
                calls=calls,
            )
            before = _score(program, "before", context)
            compiled = _compile(recipe, program.deepcopy(), context, ())
            after = _score(compiled, "after", context)
        finally:
            meter.add(seconds=time.perf_counter() - started)
    headline = metric.measure
    return Compiled(compiled, before, after, compare_runs(before, after, headline=headline), meter.spent)


@dataclass(frozen=True)
class _Context:
    trainset: Sequence[Question]
    devset: Sequence[Question]
    metric: AnswerMetric
    lm: dspy.LM
    prompt_lm: dspy.LM
    work: Path
    seed: int
    threads: int
    progress: Callable[[int], Progress]
    calls: CallCounter


def _check_same(
    path: Path,
    program: dspy.Module,
    trainset: Sequence[Question],
    devset: Sequence[Question],
    recipe: Recipe,
    metric: AnswerMetric,
    lm: dspy.LM,
    writer: dspy.LM,
    seed: int,
) -> None:
    """Check that what lies in a working folder was made by the same compilation; write down which one it is."""
    retrievers = getattr(getattr(program, "retriever", None), "retrievers", ())
    reranker = getattr(program, "reranker", None)
    settings = {
        "program": f"{type(program).__name__} {program_hash(program)}",
        "settings": {
            name: value
            for name, value in vars(program).items()
            if name[0] != "_" and isinstance(value, (int, float, str))
        },
        "index": [str(one.fingerprint) for one in retrievers if hasattr(one, "fingerprint")],
        "reranker": f"{type(reranker).__name__} {getattr(reranker, 'name', '')}".strip() if reranker else None,
        "train": questions_fingerprint(trainset),
        "dev": questions_fingerprint(devset),
        "recipe": recipe.model_dump(mode="json"),
        "measure": metric.measure,
        "reader": metric.reader.name,
        "lm": str(lm.model),
        "prompt_lm": str(writer.model),
        "seed": seed,
    }
    if not path.exists():
        write_atomically(path, json.dumps(settings, ensure_ascii=False, indent=1) + "\n")
        return
    earlier = json.loads(path.read_text(encoding="utf-8"))
    changed = [
        f"{name} was {earlier.get(name)}, is {new}" for name, new in settings.items() if earlier.get(name) != new
    ]
    if changed:
        raise PolyqaError(
            f"{path.parent} is of another compilation: {'; '.join(changed)}. Remove it, or choose another folder."
        )


def _compile(recipe: Recipe, program: dspy.Module, context: _Context, path: tuple[str, ...]) -> dspy.Module:
    path = (*path, recipe.name)
    if recipe.optimizer == "chain":
        for number, step in enumerate(recipe.parts):
            program = _compile(step, program, context, (*path, str(number)))
        return program
    done = context.work / f"{'-'.join(path)}.json"
    if done.exists():  # this step was finished before the compilation was stopped
        load_program(program, json.loads(done.read_text(encoding="utf-8")), str(done))
        return program
    if recipe.optimizer == "labels":
        _show(program, label_demos(program, context.trainset), recipe, context.seed)
    elif recipe.optimizer == "bootstrap":
        pools = bootstrap_pool(
            program,
            context.trainset,
            lm=context.lm,
            metric=_metric(recipe, context),
            journal=context.work / f"{'-'.join(path)}.jsonl",
            threads=context.threads,
        )
        _show(program, pools, recipe, context.seed)
    else:
        with dspy.context(lm=context.lm, adapter=dspy.ChatAdapter()):
            program = run_teleprompter(
                recipe,
                program,
                context.trainset,
                context.devset,
                metric=_metric(recipe, context),
                prompt_lm=context.prompt_lm,
                seed=context.seed,
                threads=context.threads,
                work=context.work,
            )
    context.calls.check()  # a program that was made while calls were refused must not be taken for a finished step
    _write_state(done, program)
    return program


def _metric(recipe: Recipe, context: _Context) -> AnswerMetric:
    own = context.metric
    return AnswerMetric(own.reader, measure=own.measure, threshold=recipe.threshold, observe=own.observe)


def _show(program: dspy.Module, pools: dict[str, list[Demo]], recipe: Recipe, seed: int) -> None:
    """Give the predictors their demos; those that the recipe leaves out keep theirs."""
    chosen = {name: pool for name, pool in pools.items() if not recipe.predictors or name in recipe.predictors}
    if recipe.k is None:
        draw = random.Random(seed)
        chosen = {
            name: pool if len(pool) <= recipe.shown else draw.sample(pool, recipe.shown)
            for name, pool in chosen.items()
        }
    set_knn_demos(program, {name: pool for name, pool in chosen.items() if pool}, recipe.k)


def _write_state(path: Path, program: dspy.Module) -> None:
    write_atomically(path, json.dumps(dump_program(program), ensure_ascii=False))


def _score(program: dspy.Module, name: str, context: _Context) -> Run:
    settings = RunSettings(
        program=type(program).__name__,
        program_state=program_hash(program),
        lm=str(context.lm.model),
        reader=context.metric.reader.name,
        questions=f"dev ({questions_fingerprint(context.devset)})",
        n=len(context.devset),
    )
    return evaluate(
        program,
        context.devset,
        lm=context.lm,
        scorer=Scorer(context.metric.reader),
        folder=context.work / name,
        settings=settings,
        threads=context.threads,
        progress=context.progress,
    )
