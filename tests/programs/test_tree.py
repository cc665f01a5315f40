"""The rules by which a tree of clarifications grows, without a language model."""

import io
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from polyqa.base.values import Interpretation
from polyqa.programs.tree import ClarificationNode, GrowingTree, NodeStatus

Table = Mapping[str, Sequence[str]]


def reading(name: str) -> Interpretation:
    return Interpretation(question=f"{name}?", answer=f"answer {name}")


def explore(
    table: Table, bad: Sequence[str] = (), *, at_once: int = 1, nodes: int = 10, depth: int = 3, failures: int = 3
) -> GrowingTree:
    """Grow a tree whose node ``x?`` is clarified into ``table["x"]``; those in ``bad`` are pruned."""
    tree = GrowingTree("root?", nodes=nodes, depth=depth, failures=failures)
    while batch := tree.to_expand(at_once):
        found = [
            (number, [reading(name) for name in table.get(question.removesuffix("?"), ())])
            for number, question in batch
        ]
        fresh = tree.sprout(found)
        tree.settle(fresh, [one.question.removesuffix("?") not in bad for one in fresh])
    return tree


def names(tree: GrowingTree) -> list[str]:
    return [one.question.removesuffix("?") for one in tree.readings()]


def test_it_grows_breadth_first() -> None:
    tree = explore({"root": ["a", "b"], "a": ["c"], "b": ["d"]})
    assert names(tree) == ["a", "b", "c", "d"]
    root = tree.frozen()
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
    readings = [Interpretation(question="How long is it?", answer=answer) for answer in ("1.5 km", "15 km")]
    assert GrowingTree("root?", nodes=10, depth=3, failures=3).sprout([(0, readings)]) == readings


@pytest.mark.parametrize(
    ("question", "answer", "repeats", "repeats_strictly"),
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
def test_a_repetition_is_left_out(question: str, answer: str, repeats: bool, repeats_strictly: bool) -> None:
    """Of question and answers, or in a strict tree of either."""
    duet, again = (
        Interpretation(question="Who sang it?", answer="Ann; Bob"),
        Interpretation(question=question, answer=answer),
    )
    for strict, left_out in ((False, repeats), (True, repeats_strictly)):
        tree = GrowingTree("root?", nodes=10, depth=3, failures=3, strict=strict)
        tree.settle(tree.sprout([(0, [reading("a"), duet])]), [True, True])
        new = tree.sprout([(1, [again, again, reading("b")])])
        assert new == [*([] if left_out else [again]), reading("b")]


@pytest.mark.parametrize(("first_holds", "expanded"), [(True, ["Who sang it?"]), (False, ["who sang it"])])
def test_a_question_that_has_two_answers_is_expanded_once(first_holds: bool, expanded: list[str]) -> None:
    """By the first node that was not pruned: the second reply would be the first one's."""
    tree = GrowingTree("root?", nodes=10, depth=3, failures=3)
    twice = [
        Interpretation(question=text, answer=name) for text, name in (("Who sang it?", "Ann"), ("who sang it", "Bob"))
    ]
    tree.to_expand(3)
    tree.settle(tree.sprout([(0, twice)]), [first_holds, True])
    assert [question for _, question in tree.to_expand(3)] == expanded


def test_pruning_is_undone_from_the_root_until_enough_are_left() -> None:
    tree = explore({"root": ["a", "b"], "b": ["c", "d"]}, bad=["a", "c", "d"])
    tree.restore(2)
    assert names(tree) == ["a", "b"]
    assert tree.frozen().children[0].status is NodeStatus.RESTORED
    tree.restore(3)
    assert names(tree) == ["a", "b", "c"]


def test_a_question_with_one_meaning_keeps_its_answer_and_is_not_expanded_again() -> None:
    tree = GrowingTree("Root?", nodes=10, depth=3, failures=3)
    fresh = tree.sprout([(0, [Interpretation(question="root?", answer="42")])])
    tree.settle(fresh, [True])
    assert [one.answer for one in tree.readings()] == ["42"]
    assert tree.to_expand(3) == []


@given(
    table=st.dictionaries(
        st.sampled_from(["root", *"abcdefghij"]), st.lists(st.sampled_from("abcdefghij"), max_size=4), max_size=11
    ),
    bad=st.sets(st.sampled_from("abcdefghij")),
    at_once=st.integers(2, 6),
    nodes=st.integers(1, 8),
    depth=st.integers(1, 4),
)
def test_expanding_many_at_once_gives_the_same_tree(
    table: Table, bad: set[str], at_once: int, nodes: int, depth: int
) -> None:
    one = explore(table, sorted(bad), nodes=nodes, depth=depth)
    many = explore(table, sorted(bad), nodes=nodes, depth=depth, at_once=at_once)
    assert many.frozen() == one.frozen()
    assert len(one.readings()) <= nodes
    assert all(node.depth <= depth for node in one.frozen().breadth_first())


def test_a_tree_is_drawn_with_its_pruned_nodes_marked_and_brackets_kept() -> None:
    child = ClarificationNode(question="Which [b] film?", answer="A [1997] one", status=NodeStatus.PRUNED, depth=1)
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(ClarificationNode(question="Which film?", children=(child,)))
    drawn = console.export_text()
    assert "Which film?" in drawn
    assert "└── Which [b] film? A [1997] one (pruned)" in drawn


def test_a_tree_is_json_and_back() -> None:
    tree = explore({"root": ["a", "b"], "a": ["c"]}, bad=["b"]).frozen()
    assert ClarificationNode.model_validate_json(tree.model_dump_json()) == tree
