"""What a terminal shows of an answer: the readings with their evidence, the text, the sources."""

from typing import TYPE_CHECKING

from .display import console, escaped, table

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from polyqa.asking import Result
    from polyqa.base.values import Passage


def show_result(result: "Result") -> None:
    """Print what the question may mean, its readings, then the whole text, its passages, and what it took."""
    from rich.padding import Padding

    from polyqa.reports.readings import opening
    from polyqa.reports.result import cautions, took

    out = console()
    out.print()
    if result.asked_back:
        out.print(Padding(escaped(result.answer), (0, 2)))
        return
    unsure = result.standing == "unsure"
    if unsure:
        out.print(Padding("[yellow]Not sure: the passages may mean something else.[/]", (0, 2)))
    elif introduction := opening(result.question, [reading.question for reading in result.interpretations]):
        out.print(Padding(f"[bold]{escaped(introduction)}[/]", (0, 2)))
    if result.interpretations:
        out.print(Padding(_readings(result), (int(unsure or bool(introduction)), 2, int(not unsure), 2)))
    if not unsure:
        out.print(Padding(escaped(result.cited_answer), (0, 2)))
    if tree := result.extra.get("tree"):
        out.print(Padding(tree, (1, 2, 0, 2)))
    if result.passages:
        out.print(Padding(_passages(result), (1, 2, 0, 2)))
    for caution in cautions(result):
        out.print(f"\n[yellow]{escaped(caution)}[/]")
    out.print(f"\n[dim]{escaped(' · '.join(took(result)))}[/]")


def _readings(result: "Result") -> "Table":
    """Return each reading: what sets it apart, its answer, how sure it is, and the sentence that says so."""
    from rich.console import Group
    from rich.table import Table

    from polyqa.reports.readings import sure, titles_of
    from polyqa.reports.result import sources_of
    from polyqa.standing import SURE

    readings = result.interpretations
    apart = titles_of(result) if len(readings) > 1 else [""]
    by_pid = {passage.pid: passage for passage in result.passages}
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(justify="right")
    grid.add_column()
    for number, (reading, title, share, source) in enumerate(
        zip(readings, apart, result.confidence, sources_of(result), strict=True), 1
    ):
        unjudged = "does not stand in its passage" if reading.pid in by_pid else "cites no passage"
        words = unjudged if share is None else sure(share)
        colour = "green" if share is not None and share >= SURE else "yellow"
        head = f"{escaped(title)}: " if title else ""
        parts: list[RenderableType] = [f"{head}[bold]{escaped(reading.answer)}[/] · [{colour}]{words}[/]"]
        passage = by_pid.get(reading.pid or "")
        if passage is not None:
            quote = _quote(passage.text, reading.answer)
            name = escaped(_name(passage))
            parts.append(f"[dim]{f'“{escaped(quote)}” ' if quote else ''}{escaped(source)} {name}[/]")
        grid.add_row(str(number), Group(*parts))
    return grid


def _quote(text: str, answer: str) -> str:
    """Return the sentence that holds an answer, or its part around it; empty if none does."""
    from polyqa.metrics.text import around, sentence_at
    from polyqa.reports.marks import places

    spans = places(text, answer)
    return around(sentence_at(text, spans[0][0]), spans[0][0]) if spans else ""


def _name(passage: "Passage") -> str:
    """Return how a passage is cited: by its place in a file, or by its title and what else its metadata call source."""
    if passage.title and passage.place and not {"page", "line", "section"} & passage.metadata.keys():
        return f"{passage.title} ({passage.place})"
    return passage.place or passage.title


def _passages(result: "Result") -> "Table":
    listing = table("", "", "", title="Passages")
    listing.show_header = False
    for number, passage in enumerate(result.passages, 1):
        title = escaped(_name(passage) or passage.text[:60])
        listing.add_row(escaped(f"[{number}]"), title, f"[dim]{escaped(passage.pid)}[/]")
    return listing
