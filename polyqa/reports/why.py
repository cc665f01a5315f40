"""Why an answer is what it is: question, candidates, passages, readings, what was dropped and why."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from polyqa.base.text import counted
from polyqa.metrics.text import normalize_answer
from polyqa.programs.tree import ClarificationNode, NodeStatus

from .readings import sure, titles_of
from .result import numbers_of

if TYPE_CHECKING:
    from polyqa.asking import Result

_LISTED = 5  # items of a stage


@dataclass(frozen=True)
class Item:
    """Something in a stage, with the number of the passage that it is or rests on; the next stage has what is kept."""

    text: str
    detail: str = ""
    source: int | None = None
    kept: bool = True


@dataclass(frozen=True)
class Stage:
    """A title, and what is in it."""

    title: str
    items: tuple[Item, ...]


def stages(result: "Result", steps: Sequence[Mapping[str, Any]]) -> list[Stage]:
    """Return the five stages of a question; ``steps`` are what `polyqa.watching.Watch` reported on the way."""
    found, best = _candidates(result, steps)
    kept_pids = {passage.pid for passage in result.passages}
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
    listed = [Item(title, "", None, pid in kept_pids) for pid, title in best.items()]
    return [
        Stage("Question", (Item(result.question, f"{result.program} · {result.lm}"),)),
        Stage(counted(found, "candidate"), _shortened(listed, found)),
        Stage(f"{counted(len(passages), 'passage')} kept", _shortened(passages)),
        Stage(counted(len(readings), "reading"), _shortened(readings)),
        Stage("Dropped, and why", _shortened([*_dropped(result, steps, found, passages)])),
    ]


def _shortened(items: Sequence[Item], total: int | None = None) -> tuple[Item, ...]:
    hidden = (len(items) if total is None else total) - len(items[:_LISTED])
    return (*items[:_LISTED], *([Item(f"and {hidden:,} more", kept=False)] if hidden > 0 else []))


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
        for proposal in listed if isinstance(listed, list) else ():
            if isinstance(proposal, Mapping) and proposal.get("question") and proposal.get("answer"):
                yield str(proposal["question"]), str(proposal["answer"])
        question, answer = data.get("interpretation"), data.get("short_answer")
        if question and answer and "null" not in (question, answer):
            yield str(question), str(answer)
