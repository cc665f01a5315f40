"""Compiles a program by names and saves the artifact."""

import datetime
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dspy

from polyqa.artifacts.card import Card, DataCard, Figure, Gain, IndexCard, check_settings
from polyqa.artifacts.state import dump_program, signature_fingerprints
from polyqa.artifacts.store import find_artifact, read_artifact, save_artifact
from polyqa.embedded_models import EMBEDDED_ENCODER, EMBEDDED_READER
from polyqa.engines.extractive import MODEL_NAME
from polyqa.evaluation.columns import COLUMNS
from polyqa.evaluation.comparison import compare_runs
from polyqa.evaluation.loading import load_questions, questions_fingerprint
from polyqa.evaluation.plots import FORMATS
from polyqa.evaluation.progress import Progress, silent
from polyqa.evaluation.runs import Run, summarize
from polyqa.metrics.gold import Question
from polyqa.metrics.optimizing import AnswerMetric, Measure
from polyqa.optimizers.calls import kept_calls
from polyqa.optimizers.checks import check_measurable, check_recipe, check_writer
from polyqa.optimizers.compiler import Compiled
from polyqa.optimizers.compiler import compile as compile_program
from polyqa.optimizers.curve import Curve, learning_curve, plot_curve
from polyqa.optimizers.estimates import Estimate, estimate, measure_question
from polyqa.optimizers.readme import artifact_readme
from polyqa.optimizers.recipe import Recipe
from polyqa.optimizers.recipes import recipe as recipe_by_name
from polyqa.optimizers.splits import check_disjoint
from polyqa.programs import PROGRAMS
from polyqa.programs.registry import most_calls, needs_index
from polyqa.signatures import PolyqaError

from .evaluating import evaluate, make_scorer
from .loading import index_of, load, warm_up
from .models import language_model, ready_reader

Confirm = Callable[[Estimate], bool]


@dataclass(frozen=True)
class Made:
    """A saved artifact: its folder, its card, and the compiled program with its runs.

    ``test_runs`` are those of the uncompiled and the compiled program on test, if test questions were given.
    """

    path: Path
    card: Card
    compiled: Compiled
    test_runs: tuple[Run, Run] | None = None


def compile(
    program: str = "diva",
    *,
    recipe: str | Recipe = "knn",
    train: str | Path | Sequence[Question] = "homonyms/train",
    dev: str | Path | Sequence[Question] = "homonyms/dev",
    test: str | Path | Sequence[Question] | None = None,
    out: str | Path,
    index: str | Path | None = None,
    lm: str | dspy.LM = MODEL_NAME,
    prompt_lm: str | dspy.LM | None = None,
    api_base: str | None = None,
    measure: Measure = "dr",
    reader: str = EMBEDDED_READER,
    threshold: float | None = None,
    predictors: Sequence[str] | None = None,
    encoder: str = EMBEDDED_ENCODER,
    reranker: str | None = None,
    questions: str | Path | None = None,
    seed: int = 0,
    threads: int | None = None,
    confirm: Confirm = lambda estimated: True,
    max_calls: int | None = None,
    further_runs: int = 0,
    progress: Callable[[int], Progress] = silent,
    described: Mapping[str, str] | None = None,
    **settings: Any,
) -> Made | None:
    """Compile a program, measure what it brought, and save it.

    Parameters
    ----------
    program
        A name of `polyqa.programs.registry.REGISTRY`; not a compiled program, whose card could not tell what made it.
    index, encoder, reranker, settings
        See `polyqa.load`. They are kept in the artifact, which is loaded with the same; an encoder, and a
        reranker other than ``reader``, must be named again.
    questions
        See `polyqa.load`; not kept in the artifact.
    recipe
        A name of `optimizers.RECIPES`, or a recipe.
    train, dev, test
        See `polyqa.evaluation.loading.load_questions`. Demos come from train; dev picks and is reported; test is
        reported once and may be left out. They must not share a question.
    out
        The artifact's folder. What a stopped compilation needs to go on lies in ``<out>/.work``, which may
        be deleted afterwards.
    lm, prompt_lm, api_base
        What runs the program, and what writes instructions (``lm`` if not given).
    measure, reader, threshold
        The metric and its reader, see `make_scorer`; the recipe's threshold if none is given.
    predictors
        Which predictors get demos or instructions, the others stay as they are; the recipe's choice if not given.
    seed, threads
        Of every random choice (picking the nearest demos and COPRO make none), and questions at once.
    confirm
        Is shown what it will take before it starts; ``False`` stops it, and ``None`` is returned.
    max_calls
        Stop before the start if it may take more calls of language models, and stop whenever so many have gone
        out, those of stopped runs for the same ``out`` included.
    further_runs
        Runs of the program that the caller makes afterwards: counted in what ``confirm`` is shown.
    described
        What the card says of the source of ``train``, ``dev`` and ``test`` that are given as questions.

    Raises
    ------
    PolyqaError
        If something given is missing or does not fit, or ``max_calls`` is reached.
    """
    check_program(program)
    _check_settings(settings)
    model = language_model(lm, api_base=api_base) if isinstance(lm, str) else lm
    writer = writing_model(prompt_lm, model, api_base)
    chosen = chosen_recipe(recipe, writer).with_options(threshold=threshold, predictors=predictors)
    called = described or {}
    sets = {
        name: _questions(given, called.get(name))
        for name, given in (("train", train), ("dev", dev), ("test", test))
        if given
    }
    check_disjoint({name: own for name, (_, own) in sets.items()})
    scored = {name: own for name, (_, own) in sets.items() if name != "train" or chosen.runs_train}
    check_measurable(measure, scored)
    trainset, devset = (sets[name][1] if name in sets else [] for name in ("train", "dev"))
    if not trainset or not devset:
        raise PolyqaError("Compiling needs training and development questions; one of the sets is empty.")
    out = Path(out)
    student = load(program, index=index, encoder=encoder, reranker=reranker, questions=questions, **settings)
    check_recipe(chosen, student, len(trainset))
    warm_up(student, model)
    reads = ready_reader(reader)
    metric = AnswerMetric(reads, measure=measure, threshold=chosen.threshold)
    work = out / ".work"
    with kept_calls(work, max_calls) as counter:
        # A question that takes many tokens, and many calls where the program does not tell how many at most.
        richest = max(trainset, key=lambda question: len(question.readings))
        measured = measure_question(student, richest, model, work / "question.json", counter)
        estimated = estimate(
            chosen,
            measured,
            train=len(trainset),
            dev=len(devset),
            predictors=len(list(student.named_predictors())),
            lm=str(model.model),
            prompt_lm=str(writer.model),
            most=most_calls(student),
            further=further_runs + 2 * len(sets["test"][1] if "test" in sets else ()),
        )
        _check_limit(chosen, estimated, measured.made, max_calls)
        if not confirm(estimated):
            return None
        workers = threads or (2 if model.model == MODEL_NAME else 8)
        compiled = compile_program(
            student,
            trainset,
            devset,
            chosen,
            metric=metric,
            lm=model,
            prompt_lm=writer,
            work=work,
            seed=seed,
            threads=workers,
            progress=progress,
        )
        test_gain = None
        test_runs: tuple[Run, Run] | None = None
        if "test" in sets:
            before, after = (
                evaluate(
                    own,
                    sets["test"][1],
                    lm=model,
                    name=f"test-{side}",
                    runs=work,
                    scorer=make_scorer(reader, None),
                    threads=workers,
                    progress=progress,
                )
                for side, own in (("before", student), ("after", compiled.program))
            )
            test_runs = before, after
            test_gain = _gain(before, after, measure, _data(*sets["test"]))
    opened = index_of(student)
    card = Card(
        name=out.name,
        program=program,
        settings=settings,
        reranker=reranker if needs_index(program) else None,
        signatures=signature_fingerprints(compiled.program),
        recipe={**chosen.model_dump(mode="json"), "seed": seed},
        measure=measure,
        threshold=chosen.threshold,
        reader=reads.name,
        train=_data(*sets["train"]),
        dev=_data(*sets["dev"]),
        lm=str(model.model),
        prompt_lm=str(writer.model) if chosen.writes else None,
        encoder=encoder,
        index=IndexCard(name=opened.name, fingerprint=opened.fingerprint, passages=len(opened)) if opened else None,
        versions={package: version(package) for package in ("polyqa", "dspy")},
        spent=compiled.spent,
        dev_gain=_gain(compiled.before, compiled.after, measure, _data(*sets["dev"])),
        test_gain=test_gain,
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
    )
    readme = artifact_readme(card, dump_program(compiled.program), out)
    return Made(save_artifact(compiled.program, card, out, readme), card, compiled, test_runs)


def check_program(program: str) -> None:
    """Check that a program is one that can be compiled.

    Raises
    ------
    PolyqaError
        If it is compiled already; an unknown name is left to `polyqa.load`.
    """
    if program in PROGRAMS or find_artifact(program) is None:
        return
    raise PolyqaError(
        f"{program} is compiled already, and a card could not tell of both compilations. Compile "
        f"{read_artifact(program).card.program!r:.80} anew; for one step after the other take a recipe of steps, such "
        "as gepa-then-knn, or a Recipe of the optimizer 'chain'."
    )


def chosen_recipe(recipe: str | Recipe, writer: dspy.LM) -> Recipe:
    """Return a recipe, by name or as it is, whose instructions a language model can write.

    Raises
    ------
    PolyqaError
        If there is none of that name, or the model cannot write.
    """
    chosen = recipe_by_name(recipe) if isinstance(recipe, str) else recipe
    check_writer(chosen, str(writer.model))
    return chosen


def _check_settings(settings: Mapping[str, Any]) -> None:
    if strange := sorted({"demos", "strict"} & settings.keys()):
        raise PolyqaError(
            f"compile takes no {strange[0]}: it begins with a program as it is, so that the card can tell how."
        )
    check_settings(settings)


def _check_limit(recipe: Recipe, estimated: Estimate, made: int, most: int | None) -> None:
    """Check that a compilation can finish, given the calls made before it and its limit."""
    if most is not None and made + estimated.calls > most:
        raise PolyqaError(
            f"The recipe {recipe.name!r} may take {estimated.calls:,} calls ({estimated}) after the {made:,} that were "
            f"made to measure a question and before, more than --max-calls {most:,}. Take fewer questions, a cheaper "
            "recipe, or raise the limit."
        )


def writing_model(prompt_lm: str | dspy.LM | None, model: dspy.LM, api_base: str | None) -> dspy.LM:
    """Return the language model that writes instructions; the program's if none is given."""
    if prompt_lm is None:
        return model
    # Instructions are worth trying in several wordings: the optimizers' own temperature is 1.
    return language_model(prompt_lm, api_base=api_base, temperature=1.0) if isinstance(prompt_lm, str) else prompt_lm


def _questions(given: str | Path | Sequence[Question], called: str | None = None) -> tuple[str, list[Question]]:
    if isinstance(given, (str, Path)):
        path = Path(given)
        return (path.name if path.suffix else str(given)), load_questions(given)
    return called or "questions given in Python", list(given)


def _data(source: str, questions: Sequence[Question]) -> DataCard:
    return DataCard(source=source, n=len(questions), fingerprint=questions_fingerprint(questions))


def _gain(before: Run, after: Run, measure: Measure, data: DataCard) -> Gain:
    found = compare_runs(before, after, headline=measure).metrics[measure]
    return Gain(
        metric=measure,
        before=_figure(before, measure),
        after=_figure(after, measure),
        difference=round(found.difference, 3),
        low=_finite(found.low),
        high=_finite(found.high),
        p=round(found.p, 4),
        data=data,
    )


def _figure(run: Run, measure: Measure) -> Figure:
    value = summarize(run.records)[measure]
    return Figure(value=round(value.value, 3), low=_finite(value.low), high=_finite(value.high), n=value.n)


def _finite(value: float) -> float | None:
    return round(value, 3) if math.isfinite(value) else None


def draw_curve(
    program: str,
    *,
    recipe: str | Recipe,
    train: str | Path | Sequence[Question],
    dev: str | Path | Sequence[Question],
    sizes: Sequence[int],
    out: str | Path,
    work: str | Path,
    index: str | Path | None = None,
    lm: str | dspy.LM = MODEL_NAME,
    prompt_lm: str | dspy.LM | None = None,
    api_base: str | None = None,
    measure: Measure = "dr",
    reader: str = EMBEDDED_READER,
    seed: int = 0,
    threads: int | None = None,
    progress: Callable[[int], Progress] = silent,
) -> Curve:
    """Compile with growing numbers of training examples, and draw the scores on dev.

    Parameters
    ----------
    sizes
        Numbers of training examples.
    out
        The plot, ``.png``, ``.svg`` or ``.pdf``.
    work
        Folder of the compilations, one for each size.
    program, recipe, train, dev, index, lm, prompt_lm, api_base, measure, reader, seed, threads, progress
        See `compile`.
    """
    chosen = recipe_by_name(recipe) if isinstance(recipe, str) else recipe
    if Path(out).suffix.lower() not in FORMATS:
        raise PolyqaError(f"{out}: a plot is written as {', '.join(FORMATS)}.")
    model = language_model(lm, api_base=api_base) if isinstance(lm, str) else lm
    curve = learning_curve(
        load(program, index=index),
        _questions(train)[1],
        _questions(dev)[1],
        chosen,
        sizes=sizes,
        metric=AnswerMetric(ready_reader(reader), measure=measure, threshold=chosen.threshold),
        lm=model,
        prompt_lm=writing_model(prompt_lm, model, api_base),
        work=work,
        seed=seed,
        threads=threads or (2 if model.model == MODEL_NAME else 8),
        progress=progress,
    )
    plot_curve(curve, out, label=COLUMNS[measure].label)
    return curve
