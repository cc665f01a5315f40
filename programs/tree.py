"""The tree that Tree of Clarifications grows: a value when it is done, and the rules while it grows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from polyqa.base.values import Interpretation
from polyqa.metrics.text import normalize_answer, normalize_short, several

if TYPE_CHECKING:
    from rich.tree import Tree


class NodeStatus(StrEnum):
    """What became of a node."""

    ROOT = "root"
    VALID = "valid"
    PRUNED = "pruned"
    RESTORED = "restored"
    """Pruned, and taken back because too few were left."""


class ClarificationNode(BaseModel):
    """A node of the tree: a disambiguated question with its answer, and what it was clarified into.

    ``rich.print(node)`` draws the tree; ``node.model_dump(mode="json")`` is its JSON.

    Attributes
    ----------
    question
        The ambiguous question at the root, a disambiguated one elsewhere.
    answer, pid
        Its short answer and the passage that holds it; empty and ``None`` at the root.
    status
        See `NodeStatus`.
    depth
        0 at the root.
    children
        In the order in which they were found.
    """

    model_config = ConfigDict(frozen=True)

    question: str
    answer: str = ""
    pid: str | None = None
    status: NodeStatus = NodeStatus.ROOT
    depth: int = 0
    children: tuple[ClarificationNode, ...] = ()

    def breadth_first(self) -> Iterator[ClarificationNode]:
        """Yield this node and all below it, level by level."""
        level: list[ClarificationNode] = [self]
        while level:
            yield from level
            level = [child for node in level for child in node.children]

    def __rich__(self) -> Tree:
        """Return the tree as rich draws it."""
        from rich.markup import escape
        from rich.tree import Tree

        def label(node: ClarificationNode) -> str:
            text = escape(node.question)
            if node.status is NodeStatus.ROOT:
                return f"[bold]{text}[/]"
            text = f"{text} [bold]{escape(node.answer)}[/]"
            return text if node.status is NodeStatus.VALID else f"[dim]{text} ({node.status})[/]"

        def grow(branch: Tree, node: ClarificationNode) -> Tree:
            for child in node.children:
                grow(branch.add(label(child)), child)
            return branch

        return grow(Tree(label(self)), self)


@dataclass(frozen=True)
class _Content:
    question: str
    answers: frozenset[str]


def _content(reading: Interpretation) -> _Content:
    answers = frozenset(map(normalize_short, several(reading.answer))) - {""}
    return _Content(normalize_answer(reading.question), answers)


@dataclass
class _Sprout:
    interpretation: Interpretation
    parent: int
    depth: int
    status: NodeStatus = NodeStatus.VALID


class GrowingTree:
    """The breadth-first exploration of section 3.2, without its language-model calls.

    Use it in rounds: `to_expand` gives the next nodes, `sprout` takes what they were clarified into and
    returns what is new, `settle` takes the verdicts on those. Nothing depends on how many nodes a round
    expands: what lies behind the end of the exploration is thrown away.

    Parameters
    ----------
    question
        The ambiguous question.
    nodes
        The exploration ends with so many valid nodes.
    depth
        Nodes of this depth are not expanded.
    failures
        The exploration ends after so many expansions in a row without a valid new node.
    strict
        Whether a reading is left out that repeats the question or the answer of a node, not only one that repeats both.
    """

    def __init__(self, question: str, *, nodes: int, depth: int, failures: int, strict: bool = False) -> None:
        self._nodes = [_Sprout(Interpretation(question=question, answer=""), -1, 0, NodeStatus.ROOT)]
        self._most, self._depth, self._patience, self._strict = nodes, depth, failures, strict
        self._next = 0
        self._failed = 0
        self._ended = False
        self._round: list[tuple[int, list[int]]] = []

    def to_expand(self, most: int) -> list[tuple[int, str]]:
        """Return up to ``most`` nodes of one level, as number and question; none when the exploration ends."""
        while self._next < len(self._nodes) and self._is_leaf(self._next):
            self._next += 1
        if self._ended or self._next == len(self._nodes):
            return []
        depth = self._nodes[self._next].depth
        level = [number for number in range(self._next, len(self._nodes)) if self._nodes[number].depth == depth]
        chosen = [number for number in level if not self._is_leaf(number)][:most]
        return [(number, self._nodes[number].interpretation.question) for number in chosen]

    def sprout(self, expanded: Sequence[tuple[int, Sequence[Interpretation]]]) -> list[Interpretation]:
        """Take the readings of expanded nodes and return those that are new, in order.

        A reading that repeats both the question and the answer of a node in the tree is left out
        (de-duplication), with several answers in whatever order. Two readings may well have one answer
        (the paper's table 6), and one question two answers. One that repeats only the question of a node
        that is expanded, or of the root, is kept, but not expanded: the reply would be the same. A strict
        tree leaves out what repeats either.
        """
        known = {_content(node.interpretation) for node in self._nodes[1:]}
        self._round = []
        fresh: list[Interpretation] = []
        for number, readings in expanded:
            places = []
            for reading in readings:
                content = _content(reading)
                if not content.answers or self._repeats(content, known):
                    continue
                known.add(content)
                places.append(len(fresh))
                fresh.append(reading)
            self._round.append((number, places))
        return fresh

    def settle(self, fresh: Sequence[Interpretation], verdicts: Sequence[bool]) -> None:
        """Add the new readings, each valid or pruned by its verdict, up to the end of the exploration."""
        for number, places in self._round:
            if self._ended:
                return
            depth = self._nodes[number].depth + 1
            for index in places:
                status = NodeStatus.VALID if verdicts[index] else NodeStatus.PRUNED
                self._nodes.append(_Sprout(fresh[index], number, depth, status))
                if self._valid() == self._most:
                    self._ended = True
                    return
            self._failed = 0 if any(verdicts[index] for index in places) else self._failed + 1
            self._next = number + 1
            self._ended = self._failed == self._patience

    def restore(self, fewest: int) -> None:
        """Take pruned nodes back, those nearest the root first, until there are ``fewest`` valid ones."""
        for node in self._nodes:
            if self._valid() >= fewest:
                return
            if node.status is NodeStatus.PRUNED:
                node.status = NodeStatus.RESTORED

    def readings(self) -> list[Interpretation]:
        """Return the readings of the nodes that were not pruned, in breadth-first order."""
        return [node.interpretation for node in self._nodes if node.status in (NodeStatus.VALID, NodeStatus.RESTORED)]

    def frozen(self) -> ClarificationNode:
        """Return the tree as a value."""

        def freeze(number: int) -> ClarificationNode:
            node = self._nodes[number]
            return ClarificationNode(
                question=node.interpretation.question,
                answer=node.interpretation.answer,
                pid=node.interpretation.pid,
                status=node.status,
                depth=node.depth,
                children=tuple(freeze(at) for at, other in enumerate(self._nodes) if other.parent == number),
            )

        return freeze(0)

    def _repeats(self, content: _Content, known: Collection[_Content]) -> bool:
        if not self._strict:
            return content in known
        answers = frozenset[str]().union(*(node.answers for node in known))
        return content.answers <= answers or any(node.question == content.question for node in known)

    def _is_leaf(self, number: int) -> bool:
        node = self._nodes[number]
        if node.status is NodeStatus.PRUNED or node.depth >= self._depth:
            return True
        asked = normalize_answer(node.interpretation.question)
        return any(
            normalize_answer(earlier.interpretation.question) == asked
            for earlier in self._nodes[:number]
            if earlier.status is not NodeStatus.PRUNED
        )

    def _valid(self) -> int:
        return sum(node.status in (NodeStatus.VALID, NodeStatus.RESTORED) for node in self._nodes)
