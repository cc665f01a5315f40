"""The rules by which a tree of clarifications grows, with a language model that replies by a table."""

import io
from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

import dspy
import pytest
from found import Found
from rich.console import Console

from polyqa.base.values import Interpretation
from polyqa.programs import TreeOfClarifications
from polyqa.programs.steps import CallTuple
from polyqa.programs.tree import ClarificationNode, NodeStatus, repeats

Table = Mapping[str, Sequence[str | Interpretation]]


def reading(name: str) -> Interpretation:
    return Interpretation(question=f"{name}?", answer=f"answer {name}")


def explore(table: Table, bad: Collection[str] = (), *, failures: int = 3, **limits: Any) -> ClarificationNode:
    """Grow a tree whose node ``x?`` is clarified into ``table["x"]``; those in ``bad`` are pruned."""
    program = TreeOfClarifications(Found(), cast(Any, None), preset="paper", **limits)
    program.FAILURES = failures

    def reply(call: CallTuple) -> dspy.Prediction:
        predictor, inputs = call[:2]
        if predictor is program.extract:
            found = table.get(inputs["question"].removesuffix("?"), ())
            return dspy.Prediction(interpretations=[reading(one) if isinstance(one, str) else one for one in found])
        if predictor is program.verify:
            return dspy.Prediction(fitting="No" if inputs["candidate"].removeprefix("answer ") in bad else "Yes")
        return dspy.Prediction(answer="")

    steps, result = program.steps("root?"), None
    while True:
        try:
            step = steps.send(result)
        except StopIteration as end:
            tree: ClarificationNode = end.value.tree
            return tree
        result = ([reply(call) for call in step.calls], step.meanwhile() if step.meanwhile is not None else None)


def names(tree: ClarificationNode) -> list[str]:
    return [node.question.removesuffix("?") for node in tree.kept()]


def test_it_grows_breadth_first() -> None:
    root = explore({"root": ["a", "b"], "a": ["c"], "b": ["d"]})
    assert names(root) == ["a", "b", "c", "d"]
    assert [node.depth for node in root.breadth_first()] == [0, 1, 1, 2, 2]
    assert [child.question for child in root.children] == ["a?", "b?"]
    assert root.children[0].children[0].question == "c?"


FAILING = {"root": list("abcdefg"), "a": [], "b": [], "c": ["h"], "d": [], "e": [], "f": [], "g": ["i"]}


@pytest.mark.parametrize(
    ("table", "bad", "limits", "grown"),
    [
        ({"root": list("abcd"), "a": ["e"]}, "", {"nodes": 3}, "abc"),  # enough valid nodes
        ({"root": ["a"], "a": ["b"], "b": ["c"], "c": ["d"]}, "", {"depth": 2}, "ab"),
        (FAILING, "", {"nodes": 20}, "abcdefgh"),  # three failures in a row; a success starts the count anew
        (FAILING, "", {"nodes": 20, "failures": 4}, "abcdefghi"),
        # an expansion whose nodes are all pruned has failed
        ({"root": list("abcd"), "a": ["e"], "b": ["f"], "c": ["g"], "d": ["h"]}, "efg", {"nodes": 20}, "abcd"),
        ({}, "", {}, ""),
    ],
)
def test_the_exploration_ends(table: Table, bad: str, limits: dict[str, int], grown: str) -> None:
    assert names(explore(table, bad, **limits)) == list(grown)


def test_figures_that_differ_in_a_point_repeat_nothing() -> None:
    short, long = (Interpretation(question="How long is it?", answer=answer) for answer in ("1.5 km", "15 km"))
    assert not repeats(long, [short], strict=False)


@pytest.mark.parametrize(
    ("question", "answer", "either", "strictly"),
    [
        ("a", "The answer a.", True, True),
        ("A?", "1953;  the answer A", False, True),
        ("Something new?", "answer a", False, True),
        ("A?", "something new", False, True),
        ("Who sang it?", "Bob; Ann", True, True),
        ("Who sang it?", "Ann;", False, True),
        ("Who sang it?", "Ann Bob", False, True),
        ("Who sang it?", "Cleo", False, True),
        ("Something new?", "bob", False, True),
        ("Something new?", "Bob; Cleo", False, False),
        ("Something new?", "Cleo", False, False),
        ("Something new?", "", True, True),
        ("Something new?", " ; ", True, True),
    ],
)
def test_a_repetition_is_left_out(question: str, answer: str, either: bool, strictly: bool) -> None:
    """Of question and answers, or strictly of either."""
    known = [reading("a"), Interpretation(question="Who sang it?", answer="Ann; Bob")]
    again = Interpretation(question=question, answer=answer)
    assert [repeats(again, known, strict=strict) for strict in (False, True)] == [either, strictly]


def test_what_an_expansion_gives_twice_is_a_node_once() -> None:
    assert names(explore({"root": ["a", "b", "a"], "a": ["b", "c"]})) == ["a", "b", "c"]


@pytest.mark.parametrize(("first_holds", "expanded"), [(True, "Who sang it?"), (False, "who sang it")])
def test_a_question_that_has_two_answers_is_expanded_once(first_holds: bool, expanded: str) -> None:
    """By the first node that was not pruned: the second reply would be the first one's."""
    twice = [Interpretation(question=q, answer=a) for q, a in (("Who sang it?", "Ann"), ("who sang it", "Bob"))]
    root = explore({"root": twice, "Who sang it": ["a"], "who sang it": ["a"]}, () if first_holds else ["Ann"])
    assert [node.question for node in root.breadth_first() if node.children] == ["root?", expanded]


def test_pruning_is_undone_from_the_root_until_enough_are_left() -> None:
    root = explore({"root": ["a", "b"], "b": ["c", "d"]}, bad=["a", "c", "d"])
    assert names(root) == ["a", "b"]
    assert root.children[0].status is NodeStatus.RESTORED
    root.restore(3)
    assert names(root) == ["a", "b", "c"]


def test_a_question_with_one_meaning_keeps_its_answer_and_is_not_expanded_again() -> None:
    root = explore({"root": [Interpretation(question="Root?", answer="42")]})
    assert [node.answer for node in root.breadth_first()] == ["", "42"]


def test_a_tree_is_drawn_with_its_pruned_nodes_marked_and_brackets_kept() -> None:
    child = ClarificationNode(question="Which [b] film?", answer="A [1997] one", status=NodeStatus.PRUNED, depth=1)
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(ClarificationNode(question="Which film?", children=(child,)))
    drawn = console.export_text()
    assert "Which film?" in drawn
    assert "└── Which [b] film? A [1997] one (pruned)" in drawn


def test_a_tree_is_json_and_back() -> None:
    tree = explore({"root": ["a", "b"], "a": ["c"]}, bad=["b"])
    assert ClarificationNode.model_validate_json(tree.model_dump_json()) == tree
