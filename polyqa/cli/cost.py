"""`polyqa cost`: what a question costs, before anything is sent."""

from typing import TYPE_CHECKING, Annotated

import typer

from polyqa.base.text import counted

from . import options
from .display import console, escaped, facts, show_json, table

if TYPE_CHECKING:
    from polyqa.costing import Cost, Spread


def cost_command(
    question: Annotated[str | None, typer.Argument(help="A question; by default a sample of --questions.")] = None,
    program: options.Program = None,
    index: options.Index = None,
    lm: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Language model whose price and tokenizer count, such as openai/gpt-4o-mini."
        ),
    ] = None,
    helper_lm: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Second language model, for calls whose output is not shown."),
    ] = None,
    passages: options.Passages = None,
    sets: options.Settings = None,
    questions: options.Asked = "homonyms/dev",
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="Size of a random sample of the questions.")] = 5,
    as_json: options.Json = False,
) -> None:
    """Estimate what a question costs: calls, round trips, tokens, money. Nothing is sent.

    The embedded engine answers in place of the language model. A question with more readings costs more, so give
    questions that fit your index.
    """
    from polyqa.costing import cost
    from polyqa.loading import default_program
    from polyqa.question_sets import Questions

    program = program or default_program(lm)
    estimate = cost(
        program,
        Questions(questions, limit=limit),
        question=question,
        lm=lm,
        helper_lm=helper_lm,
        index=index,
        **options.program_settings(program, passages, sets),
    )
    if as_json:
        show_json(estimate.to_dict())
    else:
        _show(estimate)


def _show(estimate: "Cost") -> None:
    numbers = ("calls", "tokens in", "tokens out", "$")
    rows = [
        (
            escaped(step.step) or "–",
            escaped(step.lm or "–"),
            f"{step.calls:.1f}",
            f"{step.input_tokens:,.0f}",
            f"{step.output_tokens:,.0f}",
            "–" if step.dollars is None else f"{step.dollars:.2g}",
        )
        for step in estimate.steps
    ]
    count = len(estimate.questions)
    source = (
        estimate.source if estimate.source == "your question" else f"{counted(count, 'question')} of {estimate.source}"
    )
    out = console()
    out.print(f"[bold]{escaped(estimate.program)}[/], {escaped(source)}; tokens of {escaped(estimate.tokenizer)}\n")
    out.print(table("step", "language model", *numbers, right=numbers, rows=rows))
    out.print()
    out.print(facts(_facts(estimate)))
    out.print("\n[dim]Means per question. Nothing was sent: the replies are the embedded engine's.[/]")


def _facts(estimate: "Cost") -> dict[str, str]:
    most_calls = f", at most {estimate.most_calls}" if estimate.most_calls is not None else ""
    depth = (
        "depends on the replies" if estimate.depth is None else f"at most {estimate.depth} calls one after the other"
    )
    return {
        "calls": _spread(estimate.calls, "{:.1f}", "{:.0f}") + most_calls,
        "depth": depth,
        "tokens in": _spread(estimate.input_tokens, "{:,.0f}", "{:,.0f}"),
        "tokens out": _spread(estimate.output_tokens, "{:,.0f}", "{:,.0f}"),
        **_money(estimate),
    }


def _money(estimate: "Cost") -> dict[str, str]:
    from polyqa.evaluation.prices import price_of

    if estimate.lm is None:
        return {"money": "name a model with --lm"}
    prices = {name: price_of(name) for name in dict.fromkeys(str(step.lm) for step in estimate.steps)}
    if estimate.dollars is None:
        return {
            "money": f"DSPy's price list does not have {', '.join(name for name in prices if prices[name] is None)}"
        }
    known_prices = {name: price for name, price in prices.items() if price is not None}
    listed = [f"{1e6 * price.input:g} in, {1e6 * price.output:g} out ({name})" for name, price in known_prices.items()]
    mean = estimate.dollars.mean
    money = {"money": f"${mean:.3g} a question, ${1000 * mean:,.2f} for 1,000", "$ a million": "\n".join(listed)}
    if thinking := [name for name, price in known_prices.items() if price.reasons]:
        money["not counted"] = f"the thoughts of {' and '.join(thinking)}, billed as output"
    return money


def _spread(spread: "Spread", mean: str, single: str) -> str:
    if spread.low == spread.high:
        return single.format(spread.low)
    return f"{mean.format(spread.mean)} ({single.format(spread.low)} to {single.format(spread.high)})"
