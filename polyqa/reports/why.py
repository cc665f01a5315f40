"""Why an answer is what it is, in one figure: question, candidates, passages, readings, what was dropped and why."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyqa.base.html import shortened
from polyqa.base.text import counted
from polyqa.metrics.text import normalize_answer
from polyqa.programs.tree import ClarificationNode, NodeStatus

from .readings import sure, titles_of
from .result import numbers_of

if TYPE_CHECKING:
    from polyqa.asking import Result

_LISTED = 5  # items of a stage; a slide holds no more
_WIDE = 30  # characters of a line of the figure


@dataclass(frozen=True)
class Item:
    """Something in a stage, with the number of the passage that it is or rests on; the next stage has what is kept."""

    text: str
    detail: str = ""
    source: int | None = None
    kept: bool = True


@dataclass(frozen=True)
class Stage:
    """A column of the figure: a title, and what is in it."""

    title: str
    items: tuple[Item, ...]


def stages(result: "Result", steps: Sequence[Mapping[str, Any]]) -> list[Stage]:
    """Return the five stages of a question; ``steps`` are what `polyqa.watching.Watch` reported on the way."""
    found, best = _candidates(result, steps)
    kept = {passage.pid for passage in result.passages}
    cited = {reading.pid for reading in result.interpretations} | {pid for one in result.sources for pid in one.pids}
    numbers = numbers_of(result.passages)
    passages = [
        Item(passage.title or passage.text[:60], "", numbers[passage.pid], passage.pid in cited)
        for passage in result.passages
    ]
    readings = []
    for title, reading, share in zip(titles_of(result), result.interpretations, result.confidence, strict=True):
        detail = reading.answer if share is None else f"{reading.answer} – {sure(share)}"
        readings.append(Item(title, detail, numbers.get(reading.pid or "")))
    listed = [Item(title, "", None, pid in kept) for pid, title in best.items()]
    return [
        Stage("Question", (Item(result.question, f"{result.program} · {result.lm}"),)),
        Stage(counted(found, "candidate"), _shortened(listed, found)),
        Stage(f"{counted(len(passages), 'passage')} kept", _shortened(passages)),
        Stage(counted(len(readings), "reading"), _shortened(readings)),
        Stage("Dropped, and why", _shortened([*_dropped(result, steps, found, passages)])),
    ]


def _shortened(items: Sequence[Item], total: int | None = None) -> tuple[Item, ...]:
    more = (len(items) if total is None else total) - len(items[:_LISTED])
    return (*items[:_LISTED], *([Item(f"and {more:,} more", kept=False)] if more > 0 else []))


def _candidates(result: "Result", steps: Sequence[Mapping[str, Any]]) -> tuple[int, dict[str, str]]:
    """Return how many passages were found, and the titles of the best by their ids, the last ranking first."""
    ranked = [step["data"] for step in steps if step["kind"] == "passages" and step["data"].get("passages")]
    best = {one["pid"]: one["title"] or one["pid"] for data in reversed(ranked) for one in data["passages"]}
    searched = [step["data"].get("found", 0) for step in steps if step["name"] == "search"]
    return max([*searched, len(best), len(result.passages)]), best


def _dropped(
    result: "Result", steps: Sequence[Mapping[str, Any]], found: int, passages: Sequence[Item]
) -> Iterator[Item]:
    by_answer = {normalize_answer(reading.answer): reading for reading in result.interpretations}
    numbers = numbers_of(result.passages)
    for reading in result.doubtful:
        why = f"{reading.answer}: less than half as sure as the surest reading"
        yield Item(reading.question, why, numbers.get(reading.pid or ""), kept=False)
    asked = {normalize_answer(reading.question) for reading in (*result.interpretations, *result.doubtful)}
    pruned = _pruned(result.extra.get("tree"))
    for question, answer in {**dict(_proposed(steps)), **pruned}.items():
        if normalize_answer(question) in asked:
            continue
        twin = by_answer.get(normalize_answer(answer))
        why = (
            "does not fit the question"
            if question in pruned
            else f"same answer as another reading: {twin.answer}"
            if twin
            else "not sure enough to be shown"
            if result.standing == "unanswered"
            else "did not hold against the passages"
        )
        yield Item(question, why, kept=False)
    idle = [item for item in passages if not item.kept]
    for item in idle[:2]:
        yield Item(item.text, "read; no reading rests on it", item.source, kept=False)
    if len(idle) > 2:
        yield Item(counted(len(idle) - 2, "more passage"), "read; no reading rests on them", kept=False)
    if found > len(passages):
        left = counted(found - len(passages), "candidate")
        yield Item(left, f"not among the best {len(passages)}", kept=False)


def _pruned(tree: Any) -> dict[str, str]:
    nodes: Iterable[ClarificationNode] = tree.breadth_first() if isinstance(tree, ClarificationNode) else ()
    return {node.question: node.answer for node in nodes if node.status is NodeStatus.PRUNED}


def _proposed(steps: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield the readings with answers that were proposed on the way."""
    for data in (step["data"] for step in steps if step["kind"] == "readings"):
        listed = data.get("interpretations")
        for one in listed if isinstance(listed, list) else ():
            if isinstance(one, Mapping) and one.get("question") and one.get("answer"):
                yield str(one["question"]), str(one["answer"])
        question, answer = data.get("interpretation"), data.get("short_answer")
        if question and answer and "null" not in (question, answer):
            yield str(question), str(answer)


def plot_why(result: "Result", steps: Sequence[Mapping[str, Any]], path: str | Path) -> Path:
    """Draw the five `stages` of a question to a ``.png``, ``.svg`` or ``.pdf`` file."""
    from textwrap import fill

    from matplotlib.figure import Figure

    from .plots import BLUE, GREY, check_format, save_figure

    check_format(path)
    columns = stages(result, steps)
    figure = Figure(figsize=(13.3, 7.5))  # a slide, 16:9
    axes = figure.add_axes((0.02, 0.02, 0.96, 0.96))
    axes.set_axis_off()
    axes.set_xlim(0, len(columns))
    lowest = 1.0
    for at, stage in enumerate(columns):
        axes.text(at + 0.06, 0.05, stage.title, weight="bold", fontsize=13, va="center", parse_math=False)
        if at:
            axes.annotate("", (at + 0.05, 0.05), (at - 0.03, 0.05), arrowprops={"arrowstyle": "->", "color": GREY})
        y = 0.11
        for item in stage.items:
            number = f"[{item.source}] " if item.source else ""
            text = fill(shortened(number + item.text, 3 * _WIDE), _WIDE)
            detail = fill(shortened(item.detail, 2 * _WIDE), _WIDE + 4) if item.detail else ""
            lines = text.count("\n") + 1 + (detail.count("\n") + 1 if detail else 0)
            colour = BLUE if item.kept else GREY
            high = 0.03 * lines
            axes.plot((at + 0.04, at + 0.04), (y - 0.005, y + high), color=colour, linewidth=3, solid_capstyle="butt")
            shade = "black" if item.kept else "#5f5f5f"
            axes.text(at + 0.07, y, text, va="top", fontsize=10.5, color=shade, parse_math=False)
            if detail:
                lower = y + 0.03 * (text.count("\n") + 1)
                axes.text(at + 0.07, lower, detail, va="top", fontsize=9, color="#5f5f5f", parse_math=False)
            y += high + 0.03
        lowest = max(lowest, y)
    axes.set_ylim(lowest, 0)
    return save_figure(figure, path)
