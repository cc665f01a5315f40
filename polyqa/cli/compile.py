"""`polyqa compile`, `polyqa show`, `polyqa diff`, `polyqa why`: make compiled programs and look inside."""

from pathlib import Path
from typing import Annotated

import typer

_Lm = Annotated[str, typer.Option(help="Language model that runs the program, as for polyqa ask.")]
_ApiBase = Annotated[str | None, typer.Option(help="Address of the language model's server.")]
_Artifact = Annotated[str, typer.Argument(help="Name or folder of a compiled program, or a plain program's name.")]
_Reader = Annotated[str, typer.Option(help="Reader of Disambig-F1: embedded, a path, or a hub name.")]
_Index = Annotated[str | None, typer.Option(help="Name or path of the index; by default the program's own.")]


def compile_command(
    out: Annotated[Path, typer.Option(help="Folder of the compiled program, such as compiled/mine.")],
    program: Annotated[str, typer.Option(help="A program; `polyqa programs` lists them.")] = "diva",
    recipe: Annotated[str, typer.Option(help="How; polyqa recipes lists them.")] = "knn",
    train: Annotated[str, typer.Option(help="Training questions: demos come from here.")] = "homonyms/train",
    dev: Annotated[str, typer.Option(help="Development questions: they pick, and are reported.")] = "homonyms/dev",
    test: Annotated[str | None, typer.Option(help="Test questions: reported once, if given.")] = None,
    index: _Index = None,
    lm: _Lm = "polyqa/extractive",
    prompt_lm: Annotated[str | None, typer.Option(help="Writes instructions; by default --lm.")] = None,
    api_base: _ApiBase = None,
    measure: Annotated[str, typer.Option(help="What to optimize: dr or disambig_f1.")] = "dr",
    reader: _Reader = "embedded",
    threshold: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="From which score on a run becomes a demo.")
    ] = None,
    predictors: Annotated[
        str | None,
        typer.Option(help="Which predictors get demos or instructions, with commas between; all if not given."),
    ] = None,
    passages: Annotated[
        int | None, typer.Option("-k", min=1, max=50, help="Passages shown (5), where a program has that setting.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of every random choice.")] = 0,
    threads: Annotated[int | None, typer.Option(min=1, help="Questions at once: 8, embedded engine 2.")] = None,
    max_calls: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Do not start if it may take more calls, and stop when it has made so many, those of earlier, "
            "stopped runs included; with a larger number it goes on.",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Start without asking.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the card as JSON.")] = False,
) -> None:
    """Compile a program: pick demos or write instructions that raise its score, and save it.

    The same command goes on where a compilation was stopped.
    """
    import json

    from polyqa.evaluation.progress import Bar
    from polyqa.evaluation.tables import comparison_tables
    from polyqa.signatures import PolyqaError

    from ..compiling import compile
    from .settings import program_settings

    if measure not in ("dr", "disambig_f1"):
        raise PolyqaError(f"--measure is dr or disambig_f1, not {measure!r}.")

    def confirm(estimated: object) -> bool:
        typer.echo(f"at most {estimated}", err=True)
        return yes or typer.confirm("Start?", err=True)

    made = compile(
        program,
        recipe=recipe,
        train=train,
        dev=dev,
        test=test,
        out=out,
        index=index,
        lm=lm,
        prompt_lm=prompt_lm,
        api_base=api_base,
        measure=measure,  # type: ignore[arg-type]
        reader=reader,
        threshold=threshold,
        predictors=tuple(predictors.split(",")) if predictors else None,
        seed=seed,
        threads=threads,
        confirm=confirm,
        max_calls=max_calls,
        progress=Bar,
        **program_settings(program, passages, ()),
    )
    if made is None:
        typer.echo("not started", err=True)
        return
    if as_json:
        typer.echo(json.dumps(made.card.describe(), indent=2, ensure_ascii=False))
        return
    typer.echo(comparison_tables(made.compiled.comparison))
    if made.card.test_gain is not None:
        gain = made.card.test_gain
        typer.echo(
            f"test, n = {gain.before.n}: {gain.metric} {gain.before.value:.1f} → {gain.after.value:.1f} "
            f"({gain.difference:+.1f}, p = {gain.p:.3f})"
        )
    typer.echo(f"saved in {made.path}", err=True)


def recipes_command() -> None:
    """List the recipes."""
    from rich.console import Console
    from rich.table import Table

    from polyqa.optimizers.recipes import RECIPES

    table = Table(box=None, padding=(0, 2, 0, 0))
    for head in ("recipe", "writes instructions", "what it does"):
        table.add_column(head)
    for name, one in RECIPES.items():
        table.add_row(name, "yes" if one.writes else "no", one.summary)
    Console().print(table)


def show_command(
    artifact: _Artifact,
    index: _Index = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print card and state as JSON.")] = False,
) -> None:
    """Show a program's prompts: instructions, fields, demos; and the card of a compiled one."""
    import json

    from polyqa.artifacts.state import dump_program
    from polyqa.artifacts.store import read_artifact
    from polyqa.optimizers.prompts import prompt_texts
    from polyqa.programs import PROGRAMS

    from ..loading import load

    card = None if artifact in PROGRAMS else read_artifact(artifact).card
    program = load(artifact, index=index, strict=False)
    if as_json:
        data = {"card": card.describe() if card else None, "program": dump_program(program)}
        typer.echo(json.dumps(data, indent=2, ensure_ascii=False))
        return
    if card is not None:
        typer.echo(json.dumps(card.describe(), indent=2, ensure_ascii=False) + "\n")
    for name, text in prompt_texts(program).items():
        typer.echo(f"## {name}\n\n{text}")


def diff_command(
    before: _Artifact,
    after: Annotated[str, typer.Argument(help="The program to hold against it.")],
    index: _Index = None,
) -> None:
    """Show how the prompts of two programs differ, per predictor, as Markdown."""
    from polyqa.optimizers.prompts import prompt_diff

    from ..loading import load

    left, right = (load(name, index=index, strict=False) for name in (before, after))
    typer.echo(prompt_diff(left, right))


def why_command(
    question: Annotated[str, typer.Argument(help="A question.")],
    artifact: Annotated[str, typer.Option(help="Name or folder of a compiled program, or a plain program's name.")],
    index: _Index = None,
    lm: _Lm = "polyqa/extractive",
    api_base: _ApiBase = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Ask a question and show why it is answered so: the demos that were picked, the messages sent."""
    import json

    from ..asking import ask, check_question
    from ..explaining import picked_demos
    from ..loading import load
    from ..models import language_model

    question = check_question(question)
    program = load(artifact, index=index)
    result = ask(question, program=program, lm=language_model(lm, api_base=api_base))
    picked = picked_demos(program, question)
    if as_json:
        calls = [{"messages": call.messages, "reply": call.reply} for call in result.calls]
        data = {"question": question, "answer": result.answer, "demos": picked, "calls": calls}
        typer.echo(json.dumps(data, indent=2, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.rule import Rule
    from rich.table import Table

    console = Console(highlight=False)
    for name, demos in picked.items():
        table = Table(box=None, padding=(0, 2, 0, 0), title=f"demos of {name}", title_justify="left")
        table.add_column("similarity", justify="right")
        table.add_column("question")
        for demo in demos:
            similarity = demo["similarity"]
            shown = "–" if similarity is None else f"{similarity:.3f}"
            table.add_row(shown, escape(str(demo["question"])))
        console.print(table if demos else f"{name}: no demos")
    for number, call in enumerate(result.calls, 1):
        console.print(Rule(f"call {number} of {len(result.calls)}"))
        for message in call.messages:
            console.print(f"[bold]{message['role']}[/]\n{escape(str(message['content']))}\n")
        console.print(f"[bold]reply[/]\n{escape(call.reply)}\n")


def curve_command(
    out: Annotated[Path, typer.Option(help="The plot: .png, .svg or .pdf.")],
    program: Annotated[str, typer.Option(help="A program; `polyqa programs` lists them.")] = "rac",
    recipe: Annotated[str, typer.Option(help="How; polyqa recipes lists them.")] = "knn",
    sizes: Annotated[str, typer.Option(help="Numbers of training examples, with commas between.")] = "5,15,45,90",
    train: Annotated[str, typer.Option(help="Training questions.")] = "homonyms/train",
    dev: Annotated[str, typer.Option(help="Development questions.")] = "homonyms/dev",
    index: _Index = None,
    lm: _Lm = "polyqa/extractive",
    prompt_lm: Annotated[str | None, typer.Option(help="Writes instructions; by default --lm.")] = None,
    api_base: _ApiBase = None,
    reader: _Reader = "embedded",
    work: Annotated[Path, typer.Option(help="Folder of the compilations; kept, so that it can go on.")] = Path(
        "runs/curve"
    ),
    seed: Annotated[int, typer.Option(help="Seed of every random choice.")] = 0,
    threads: Annotated[int | None, typer.Option(min=1, help="Questions at once: 8, embedded engine 2.")] = None,
) -> None:
    """Draw a learning curve: score against training examples and against calls of the metric."""
    from polyqa.evaluation.progress import Bar
    from polyqa.signatures import PolyqaError

    from ..compiling import draw_curve

    try:
        numbers = [int(size) for size in sizes.split(",")]
    except ValueError:
        raise PolyqaError(f"--sizes takes whole numbers with commas between, not {sizes!r}.") from None
    curve = draw_curve(
        program,
        recipe=recipe,
        train=train,
        dev=dev,
        sizes=numbers,
        out=out,
        index=index,
        lm=lm,
        prompt_lm=prompt_lm,
        api_base=api_base,
        reader=reader,
        work=work,
        seed=seed,
        threads=threads,
        progress=Bar,
    )
    for size, value in curve.points:
        typer.echo(f"{size:>5} examples: {value}")
