"""A result as a notebook shows it: HTML without scripts, in which every text of anybody's is escaped."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from polyqa.base.html import Html, html_block, html_table, joined, tag
from polyqa.base.values import Passage
from polyqa.programs.tree import ClarificationNode, NodeStatus

from .citing import cited, pieces
from .places import all_places, excerpt
from .words import cautions, numbers_of, took

if TYPE_CHECKING:
    from polyqa.asking import Result


def result_html(result: "Result") -> str:
    """Return the answer with links to its evidence, the readings, the tree if there is one, and the evidence."""
    page = _Page(result)
    tree = result.extra.get("tree")
    grown = (
        [tag("details", tag("summary", "Tree of clarifications"), _tree([tree]))]
        if isinstance(tree, ClarificationNode)
        else []
    )
    return html_block(
        tag("p", tag("b", result.question)),
        tag("p", *page.answer()),
        *page.readings(),
        *grown,
        *page.evidence(),
        *(tag("p", tag("b", "Careful: "), caution) for caution in cautions(result)),
        tag("p", " · ".join(took(result)), class_="quiet"),
    )


class _Page:
    """The parts of a result that refer to each other."""

    def __init__(self, result: "Result") -> None:
        self._result = result
        self._numbers = numbers_of(result.passages)
        self._cited_answer = result.cited_answer
        # Several results stand in one notebook: each needs names of its own for what is linked.
        told = "\0".join([result.question, result.answer, *self._numbers])
        self._name = f"polyqa-{hashlib.sha256(told.encode(errors='replace')).hexdigest()[:10]}"

    def _link(self, number: int) -> Html:
        return tag("a", f"[{number}]", href=f"#{self._name}-{number}")

    def answer(self) -> Iterable[Html | str]:
        """Yield the answer's text, and links for its marks."""
        for piece in pieces(self._cited_answer, len(self._result.passages)):
            if isinstance(piece, str):
                yield piece
            else:
                yield from map(self._link, piece)

    def readings(self) -> Iterable[Html]:
        """Yield the table of the readings, if there are any."""
        if not self._result.interpretations:
            return
        rows = [
            (
                str(at),
                one.question,
                tag("b", one.answer),
                self._link(self._numbers[one.pid]) if one.pid in self._numbers else "none",
            )
            for at, one in enumerate(self._result.interpretations, 1)
        ]
        yield html_table(("", "reading", "answer", "source"), rows, numbers=(0,))

    def evidence(self) -> Iterable[Html]:
        """Yield the passages that are cited, and those that are not, behind a click."""
        named = cited(self._cited_answer, len(self._result.passages))
        named |= {self._numbers[one.pid] for one in self._result.interpretations if one.pid in self._numbers}
        shown = {number: self._passage(number, one) for number, one in enumerate(self._result.passages, 1)}
        if named:
            yield tag("div", tag("b", "Evidence"), *(shown[number] for number in sorted(named)))
        if rest := [one for number, one in shown.items() if number not in named]:
            told = "Passages" if not named else f"{len(rest)} more passage{'s' if len(rest) > 1 else ''}, not cited"
            yield tag("details", tag("summary", told), *rest)

    def _passage(self, number: int, passage: Passage) -> Html:
        answers = [one.answer for one in self._result.interpretations if one.pid == passage.pid]
        title = [tag("b", *marked(passage.title, answers)), " "] if passage.title else []
        return tag(
            "p",
            f"[{number}] ",
            *title,
            tag("span", passage.pid, class_="quiet"),
            ": ",
            *marked(passage.text, answers),
            id=f"{self._name}-{number}",
        )


def marked(text: str, answers: Sequence[str]) -> list[Html | str]:
    """Return a text, or the part of a long one that matters, in which the answers are marked."""
    spans = all_places(text, answers)
    start, end = excerpt(text, spans)
    parts: list[Html | str] = ["… "] if start else []
    at = start
    for first, last in spans:
        if start <= first and last <= end:
            parts += [text[at:first], tag("mark", text[first:last])]
            at = last
    return [*parts, text[at:end], *([" …"] if end < len(text) else [])]


def _tree(nodes: Iterable[ClarificationNode]) -> Html:
    def item(node: ClarificationNode) -> Html:
        told: list[Html | str] = [node.question]
        if node.answer:
            told += [" ", tag("b", node.answer)]
        if node.status not in (NodeStatus.ROOT, NodeStatus.VALID):
            told = [tag("span", joined(told), f" ({node.status})", class_="quiet")]
        return tag("li", *told, *([_tree(node.children)] if node.children else []))

    return tag("ul", *map(item, nodes))
