"""`polyqa compile`, `polyqa recipes`, `polyqa curve`: make compiled programs."""

from pathlib import Path
from typing import Annotated

import typer

from . import completion, options
from .failures import end_with_failures
from .terminal import say


@options.takes_language_models()
def compile_command(
    out: Annotated[Path, typer.Option(help="Folder of the compiled program, such as compiled/mine.")],
    program: options.PlainProgram = "diva",
    recipe: options.RecipeName = "knn",
    train: options.Train = "homonyms/train",
    dev: options.Dev = "homonyms/dev",
    test: Annotated[str | None, typer.Option(help="Test questions: reported once, if given.")] = None,
    index: options.Index = None,
    models: options.LanguageModels = options.EMBEDDED,
    measure: Annotated[
        str,
        typer.Option(
            help="What to optimize: dr, disambig_f1, or f1_answer (the short answers of the readings).",
            autocompletion=completion.one_of("dr", "disambig_f1", "f1_answer"),
        ),
    ] = "dr",
    reader: options.Reader = "embedded",
    threshold: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="From which score on a run becomes a demo.")
    ] = None,
    predictors: Annotated[
        str | None,
        typer.Option(help="Which predictors get demos or instructions, with commas between; all if not given."),
    ] = None,
    passages: options.Passages = None,
    preset: options.Preset = None,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    max_calls: options.MaxCalls = None,
    yes: options.Yes = False,
    plot: Annotated[
        Path | None, typer.Option(help="Draw every candidate's score against calls to a .png, .svg or .pdf file.")
    ] = None,
    mlflow: options.Mlflow = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the card as JSON.")] = False,
) -> None:
    """Compile a program: pick demos or write instructions that raise its score, and save it.

    The same command goes on where a compilation was stopped, and asks again what failed. Exit code 3 if questions
    failed.
    """
    from polyqa.base.errors import PolyqaError
    from polyqa.compiling import Budget, compile
    from polyqa.evaluation.progress import showing
    from polyqa.evaluation.tables import comparison_tables, p_text
    from polyqa.metrics.optimizing import MEASURES
    from polyqa.optimizers.recipes import recipe as recipe_by_name
    from polyqa.question_sets import Sets
    from polyqa.reports.plots import check_format
    from polyqa.tracing import traced

    from .display import Bars, confirming, show_json, show_markdown

    if measure not in MEASURES:
        raise PolyqaError(f"--measure is one of {', '.join(MEASURES)}, not {measure!r}.")
    if plot is not None:
        check_format(plot)
    named = predictors.split(",") if predictors else ()
    with showing(Bars()), traced(mlflow):
        made = compile(
            program,
            out=out,
            recipe=recipe_by_name(recipe).with_options(threshold=threshold, predictors=named),
            sets=Sets(train=train, dev=dev, test=test),
            models=models.models(reader=reader),
            measure=measure,
            budget=Budget(max_calls=max_calls, threads=threads, seed=seed, confirm=confirming(yes)),
            index=index,
            **options.program_settings(program, passages, (), preset),
        )
    if made is None:
        say("not started", err=True)
        return
    if plot is not None:
        from polyqa.evaluation.columns import COLUMNS
        from polyqa.reports.compilation_plots import plot_trials

        plot_trials(made.compiled.trials, plot, metric=COLUMNS[measure].label)
    runs = (made.compiled.before, made.compiled.after, *(made.test_runs or ()))
    if as_json:
        show_json(made.card.describe())
        end_with_failures(*runs)
        return
    show_markdown(comparison_tables(made.compiled.comparison))
    if made.card.test_gain is not None:
        gain = made.card.test_gain
        change = f"{gain.difference:+.1f}, p = {p_text(gain.p)}" if gain.tells else gain.failures
        say(f"test, n = {gain.before.n}: {gain.metric} {gain.before.value:.1f} → {gain.after.value:.1f} ({change})")
    if made.card.dev_gain is not None and not made.card.dev_gain.tells:
        say(f"dev: {made.card.dev_gain.failures}")
    say(f"saved in {made.path}", err=True)
    end_with_failures(*runs)


def recipes_command(as_json: options.Json = False) -> None:
    """List the recipes."""
    from polyqa.optimizers.recipes import RECIPES

    from .display import console, show_json, table

    if as_json:
        show_json({name: {**one.model_dump(mode="json"), "writes": one.writes} for name, one in RECIPES.items()})
        return
    rows = [(name, "yes" if one.writes else "no", one.summary) for name, one in RECIPES.items()]
    console().print(table("recipe", "writes instructions", "what it does", rows=rows))


@options.takes_language_models()
def curve_command(
    out: Annotated[Path, typer.Option(help="The plot: .png, .svg or .pdf.")],
    program: options.PlainProgram = "rac",
    recipe: options.RecipeName = "knn",
    sizes: Annotated[str, typer.Option(help="Numbers of training examples, with commas between.")] = "5,15,45,90",
    train: options.Train = "homonyms/train",
    dev: options.Dev = "homonyms/dev",
    index: options.Index = None,
    models: options.LanguageModels = options.EMBEDDED,
    reader: options.Reader = "embedded",
    passages: options.Passages = None,
    preset: options.Preset = None,
    work: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the compilations; kept, so that it can go on. By default one in runs/curve, named after "
            "program, recipe, questions and language models."
        ),
    ] = None,
    seed: options.Seed = 0,
    threads: options.Threads = None,
) -> None:
    """Draw a learning curve: score against training examples and against calls of the metric."""
    from polyqa.base.errors import PolyqaError
    from polyqa.compiling import make_plan
    from polyqa.evaluating import run_name
    from polyqa.evaluation.progress import showing
    from polyqa.language_models import ready_reader
    from polyqa.loading import load
    from polyqa.optimizers.curve import learning_curve
    from polyqa.question_sets import Sets
    from polyqa.reports.compilation_plots import plot_curve
    from polyqa.reports.plots import check_format

    from .display import Bars

    try:
        numbers = [int(size) for size in sizes.split(",")]
    except ValueError:
        raise PolyqaError(f"--sizes takes whole numbers with commas between, not {sizes!r}.") from None
    check_format(out)
    chosen = models.models(reader=reader)
    plan = make_plan(recipe, Sets(train=train, dev=dev), chosen, seed=seed, threads=threads)
    settings = options.program_settings(program, passages, (), preset)
    ready = load(program, index=index, helper_lm=chosen.helping(), **settings)
    ready_reader(reader)
    own = f"{run_name(program, dev, models.lm, helper_lm=models.helper_lm)}--{recipe}"
    with showing(Bars()):
        curve = learning_curve(ready, plan, sizes=numbers, work=work or Path("runs/curve") / own)
    plot_curve(curve, out)
    for size, value in curve.points:
        say(f"{size:>5} examples: {value}")
