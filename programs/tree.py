"""The tree that Tree of Clarifications grows, and what repeats in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from pydantic import BaseModel

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

    question: str
    answer: str = ""
    pid: str | None = None
    status: NodeStatus = NodeStatus.ROOT
    depth: int = 0
    children: tuple[ClarificationNode, ...] = ()

    @property
    def reading(self) -> Interpretation:
        """The disambiguated question with its answer."""
        return Interpretation(question=self.question, answer=self.answer, pid=self.pid)

    def add(self, reading: Interpretation, status: NodeStatus) -> ClarificationNode:
        """Add what this node was clarified into, and return it."""
        child = ClarificationNode(**reading.model_dump(), status=status, depth=self.depth + 1)
        self.children = (*self.children, child)
        return child

    def breadth_first(self) -> Iterator[ClarificationNode]:
        """Yield this node and all below it, level by level."""
        level: list[ClarificationNode] = [self]
        while level:
            yield from level
            level = [child for node in level for child in node.children]

    def kept(self) -> list[ClarificationNode]:
        """Return the nodes below that were not pruned, breadth first."""
        return [node for node in self.breadth_first() if node.status in (NodeStatus.VALID, NodeStatus.RESTORED)]

    def restore(self, fewest: int) -> None:
        """Take pruned nodes back, those nearest the root first, until there are ``fewest`` that were not pruned."""
        pruned = [node for node in self.breadth_first() if node.status is NodeStatus.PRUNED]
        for node in pruned[: max(0, fewest - len(self.kept()))]:
            node.status = NodeStatus.RESTORED

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


def repeats(reading: Interpretation, known_readings: Sequence[Interpretation], *, strict: bool) -> bool:
    """Return whether a reading tells nothing that known ones do not, or has no answer.

    It repeats both the question and the answer of one of them, with several answers in whatever order: two readings
    may well have one answer (the paper's table 6), and one question two answers. Strictly, it repeats either.
    """
    question, answers = _content(reading)
    contents = [_content(one) for one in known_readings]
    if not strict:
        return not answers or (question, answers) in contents
    known_answers = {answer for _, stated in contents for answer in stated}
    return answers <= known_answers or any(question == known_question for known_question, _ in contents)


def _content(reading: Interpretation) -> tuple[str, frozenset[str]]:
    answers = frozenset(map(normalize_short, several(reading.answer))) - {""}
    return normalize_answer(reading.question), answers
