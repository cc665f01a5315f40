"""`polyqa compile`: make a compiled program."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from polyqa.base.text import counted, p_in_words

from . import options
from .display import at_work, confirming, show_markdown
from .errors import NOTHING_DONE, end_with_failures
from .terminal import say

if TYPE_CHECKING:
    from polyqa.compiling import Made
    from polyqa.metrics.optimizing import Measure


@options.takes_language_models()
def compile_command(
    context: typer.Context,
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder for the compiled program, such as compiled/mine.")
    ],
    program: options.PlainProgram = None,
    recipe: options.RecipeName = "knn",
    train: options.Train = "homonyms/train",
    dev: options.Dev = "homonyms/dev",
    test: Annotated[
        str | None, typer.Option(metavar="SET", help="Test questions; the scores on them are reported once.")
    ] = None,
    index: options.Index = None,
    where: options.Where = None,
    models: options.LanguageModels = options.EMBEDDED,
    measure: options.Measure = "dr",
    reader: options.Reader = "embedded",
    threshold: Annotated[
        float | None,
        options.more(
            metavar="X",
            min=0.0,
            max=1.0,
            help="Lowest score at which a run of the program becomes a demo (a worked example in prompts).",
        ),
    ] = None,
    predictors: Annotated[
        str | None,
        options.more(
            metavar="NAMES",
            help="Predictors (steps of the program) that get demos or instructions, separated by commas; by default "
            "those that suit the recipe.",
        ),
    ] = None,
    teacher: Annotated[
        str | None,
        options.more(
            metavar="NAME",
            help="A compiled program, or a larger language model, whose good runs on the training questions become "
            "demos in place of the program's own.",
        ),
    ] = None,
    passages: options.Passages = None,
    program_sets: options.Settings = None,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    max_calls: options.MaxCalls = None,
    yes: options.Yes = False,
    mlflow: options.Mlflow = None,
) -> None:
    """Compile a program: choose demos or write instructions that raise its score, and save it.

    Run the same command again to resume a stopped compilation and to repeat failed questions. Exit code 3 if some
    questions failed.
    """
    from polyqa.compiling import Budget, Teacher, check_program, compile
    from polyqa.loading import default_program
    from polyqa.optimizers.recipes import recipe as recipe_by_name
    from polyqa.question_sets import Sets

    program = program or default_program(models.lm)
    check_program(program)
    how = recipe_by_name(recipe).with_options(
        threshold=threshold, predictors=[name.strip() for name in predictors.split(",")] if predictors else ()
    )
    options.check_questions(context, program, index, "train", "dev")
    settings = options.program_settings(program, passages, program_sets)
    with at_work(mlflow):
        compilation = compile(
            program,
            out=out,
            recipe=how,
            sets=Sets(train=train, dev=dev, test=test),
            models=models.models(reader=reader),
            measure=cast("Measure", measure),
            budget=Budget(max_calls=max_calls, threads=threads, seed=seed, confirm=confirming(yes)),
            teacher=Teacher.named(teacher),
            index=index,
            where=where,
            **settings,
        )
    if compilation is None:
        say("not started", err=True)
        raise typer.Exit(NOTHING_DONE)
    _report(compilation)


def _report(compilation: "Made") -> None:
    from polyqa.artifacts.store import REPORT
    from polyqa.evaluation.tables import comparison_tables

    show_markdown(comparison_tables(compilation.compiled.comparison, everything=False))
    if (gain := compilation.card.test_gain) is not None:
        change = f"{gain.difference:+.1f}, {p_in_words(gain.p)}" if gain.tells else gain.failures
        say(f"test, n = {gain.before.n}: {gain.metric} {gain.before.value:.1f} → {gain.after.value:.1f} ({change})")
    if compilation.card.dev_gain is not None and not compilation.card.dev_gain.tells:
        say(f"dev: {compilation.card.dev_gain.failures}")
    if compilation.compiled.copied:
        first_copy = compilation.compiled.copied[0]
        count = counted(len(compilation.compiled.copied), "passage")
        example = f"“{first_copy.words:.120}” in the {first_copy.where}"
        say(f"copied from training questions: {count}, such as {example}", err=True)
    say(f"saved in {compilation.path}; {compilation.path / REPORT} shows what was tried", err=True)
    end_with_failures(*compilation.compiled.runs)
