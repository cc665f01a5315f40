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


def test_it_ends_with_enough_valid_nodes() -> None:
    tree = explore({"root": ["a", "b", "c", "d"], "a": ["e"]}, nodes=3)
    assert names(tree) == ["a", "b", "c"]


def test_pruned_nodes_are_kept_apart_and_not_expanded() -> None:
    tree = explore({"root": ["a", "b"], "a": ["c"]}, bad=["a"])
    assert names(tree) == ["b"]
    assert [node.status for node in tree.frozen().children] == [NodeStatus.PRUNED, NodeStatus.VALID]
    assert tree.frozen().children[0].children == ()


def test_nodes_at_the_greatest_depth_are_not_expanded() -> None:
    tree = explore({"root": ["a"], "a": ["b"], "b": ["c"], "c": ["d"]}, depth=2)
    assert names(tree) == ["a", "b"]


def test_three_failures_in_a_row_end_it_and_a_success_starts_the_count_anew() -> None:
    table = {"root": list("abcdefg"), "a": [], "b": [], "c": ["h"], "d": [], "e": [], "f": [], "g": ["i"]}
    assert names(explore(table, nodes=20)) == [*"abcdefg", "h"]
    assert names(explore(table, nodes=20, failures=4)) == [*"abcdefg", "h", "i"]


def test_an_expansion_whose_nodes_are_all_pruned_has_failed() -> None:
    table = {"root": list("abcd"), "a": ["e"], "b": ["f"], "c": ["g"], "d": ["h"]}
    assert names(explore(table, bad="efg", nodes=20)) == list("abcd")


@pytest.mark.parametrize(
    ("question", "answer", "repeats"),
    [
        ("a", "The answer a.", True),
        ("A?", "1953;  the answer A", False),
        ("Something new?", "answer a", False),
        ("A?", "something new", False),
        ("Who sang it?", "Bob; Ann", True),
        ("Who sang it?", "Ann;", False),
        ("Who sang it?", "Ann Bob", False),
        ("Something new?", "", True),
        ("Something new?", " ; ", True),
    ],
)
def test_a_repetition_of_question_and_answers_is_left_out(question: str, answer: str, repeats: bool) -> None:
    tree = GrowingTree("root?", nodes=10, depth=3, failures=3)
    duet = Interpretation(question="Who sang it?", answer="Ann; Bob")
    tree.settle(tree.sprout([(0, [reading("a"), duet])]), [True, True])
    again = Interpretation(question=question, answer=answer)
    new = reading("b")
    assert tree.sprout([(1, [again, again, new])]) == ([new] if repeats else [again, new])


@pytest.mark.parametrize(
    ("question", "answer", "repeats"),
    [
        ("Who sang it?", "Cleo", True),
        ("Something new?", "bob", True),
        ("Something new?", "Bob; Ann", True),
        ("Something new?", "Bob; Cleo", False),
        ("Something new?", "Cleo", False),
    ],
)
def test_a_strict_tree_leaves_out_what_repeats_either(question: str, answer: str, repeats: bool) -> None:
    tree = GrowingTree("root?", nodes=10, depth=3, failures=3, strict=True)
    duet = Interpretation(question="Who sang it?", answer="Ann; Bob")
    tree.settle(tree.sprout([(0, [duet])]), [True])
    again = Interpretation(question=question, answer=answer)
    assert tree.sprout([(1, [again, again])]) == ([] if repeats else [again])


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


def test_a_question_that_cannot_be_clarified_is_a_root_alone() -> None:
    tree = explore({})
    assert tree.readings() == []
    assert list(tree.frozen().breadth_first()) == [ClarificationNode(question="root?")]


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
