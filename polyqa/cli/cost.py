"""`polyqa cost`: what a question costs, before anything is sent."""

from typing import TYPE_CHECKING, Annotated

import typer

from . import options

if TYPE_CHECKING:
    from rich.table import Table

    from polyqa.costing import Cost, Spread
    from polyqa.evaluation.prices import Price

_HEADS = {"instructions": "instr."}
_PANEL = "What counts"


def cost_command(
    question: Annotated[str | None, typer.Argument(help="A question; by default some of --questions.")] = None,
    program: options.Program = "auto",
    index: options.Index = None,
    lm: Annotated[
        str | None,
        typer.Option(
            help="Whose price and tokenizer: openai/gpt-4o-mini. Nothing is sent to it.", rich_help_panel=_PANEL
        ),
    ] = None,
    helper_lm: Annotated[
        str | None,
        typer.Option(
            help="A second model, which says what is ambiguous, what to search for and what holds.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    tokenizer: Annotated[
        str | None,
        typer.Option(
            help="A model, an encoding of tiktoken (o200k_base), or embedded; by default that of --lm.",
            show_default="o200k_base",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    demos: options.Demos = None,
    reranker: options.Reranker = None,
    passages: options.Passages = None,
    sets: options.Settings = None,
    preset: options.Preset = None,
    questions: options.Asked = "homonyms/dev",
    format: options.Format = None,
    split: options.Split = None,
    limit: Annotated[int, typer.Option(min=1, help="A random sample of so many questions.")] = 5,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
    as_json: options.Json = False,
) -> None:
    """Tell what a question costs: calls, round trips, tokens by part, money. Nothing is sent.

    The embedded engine stands in for the language model. Ask questions that fit your index: what a question costs
    depends on how many readings it has.
    """
    from polyqa.costing import cost
    from polyqa.question_sets import Questions

    from .display import show_json

    found = cost(
        program,
        Questions(questions, format=format, split=split, limit=limit, seed=seed),
        question=question,
        lm=lm,
        helper_lm=helper_lm,
        tokenizer_name=tokenizer,
        index=index,
        demos=demos,
        reranker=reranker,
        **options.program_settings(program, passages, sets, preset),
    )
    if as_json:
        show_json(found.to_dict())
        return
    _show(found)


def _show(found: "Cost") -> None:
    from rich.markup import escape

    from polyqa.base.text import counted
    from polyqa.evaluation.prompt_parts import PARTS

    from .display import console, facts, table

    heads = ["calls", *(_HEADS.get(part, part) for part in PARTS), "in", "out"]
    rows = [
        [escape(step.step) or "–", f"{step.calls:.1f}"]
        + [f"{tokens:,.0f}" for tokens in (*step.parts.values(), step.input_tokens, step.output_tokens)]
        for step in found.steps
    ]
    sums = [found.input_tokens.mean, found.output_tokens.mean]
    total = [f"{found.calls.mean:.1f}", *(f"{tokens:,.0f}" for tokens in (*found.parts.values(), *sums))]
    shown = table("step", *heads, right=heads, rows=rows)
    shown.add_section()
    shown.add_row("total", *total, style="bold")
    out = console()
    count = len(found.questions)
    of = found.source if found.source == "your question" else f"{counted(count, 'question')} of {found.source}"
    out.print(f"[bold]{escape(found.program)}[/], {escape(of)}; tokens a question by {escape(found.tokenizer)}\n")
    out.print(shown)
    if len(found.lms) > 1:
        out.print()
        out.print(_by_lm(found))
    out.print()
    out.print(facts(_facts(found)))
    out.print("\n[dim]Nothing was sent. Replies, and prompts that show them, are the embedded engine's.[/]")


def _by_lm(found: "Cost") -> "Table":
    """Return what each language model takes, where there are several."""
    from rich.markup import escape

    from .display import table

    heads = ["calls", "in", "out", "$ a question"]
    rows = [
        [escape(one.lm or "the model that answers"), escape(", ".join(one.steps)), f"{one.calls:.1f}"]
        + [f"{tokens:,.0f}" for tokens in (one.input_tokens, one.output_tokens)]
        + ["–" if one.dollars is None else f"{one.dollars:.3g}"]
        for one in found.lms
    ]
    return table("language model", "steps", *heads, right=heads, rows=rows)


def _facts(found: "Cost") -> dict[str, str]:
    from polyqa.evaluation.prices import price_of

    most = f", at most {found.most_calls}" if found.most_calls is not None else ""
    told = {
        "calls": _spread(found.calls, "{:.1f}", "{:.0f}") + most,
        "depth": _spread(found.depth, "{:.1f}", "{:.0f}") + " round trips, one after the other",
        "tokens in": _spread(found.input_tokens, "{:,.0f}", "{:,.0f}"),
        "of them repeated": _repeated(found),
        "tokens out": _spread(found.output_tokens, "{:,.0f}", "{:,.0f}"),
    }
    if found.lm is None:
        return told | {"money": "name a model with --lm"}
    if found.dollars is None:
        unknown = ", ".join(str(one.lm) for one in found.lms if one.dollars is None)
        return told | {"money": f"LiteLLM's price list does not have {unknown}"}
    told |= {"money": _money(found.dollars)}
    if found.dollars_cached is not None and found.cached_tokens.mean:
        told |= {"with a cache": _money(found.dollars_cached)}
    prices = {str(one.lm): price_of(str(one.lm)) for one in found.lms}
    listed = [_price(name, price) for name, price in prices.items() if price is not None]
    told |= {"$ a million": "\n".join(listed)}
    if thinking := [name for name, price in prices.items() if price is not None and price.reasons]:
        told |= {"not counted": f"what {' and '.join(thinking)} thinks, billed as output"}
    return told


def _price(lm: str, price: "Price") -> str:
    cached = f", {1e6 * price.cached:g} repeated" if price.cached is not None else ""
    return f"{1e6 * price.input:g} in{cached}, {1e6 * price.output:g} out ({lm})"


def _repeated(found: "Cost") -> str:
    if found.cached_tokens.mean:
        return f"{found.cached_tokens.mean:,.0f}, cheaper where the provider caches them"
    return "too few for a provider to cache"


def _spread(found: "Spread", mean: str, one: str) -> str:
    if found.low == found.high:
        return one.format(found.low)
    return f"{mean.format(found.mean)} ({one.format(found.low)} to {one.format(found.high)})"


def _money(found: "Spread") -> str:
    return f"${found.mean:.3g} a question, ${1000 * found.mean:,.2f} for 1,000"
