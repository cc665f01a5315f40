"""Tree of Clarifications over the real index, with the embedded engine and with a scripted language model."""

import json
import re

import dspy
from scripted_engine import ScriptedEngine, scripted_lm

import polyqa
from polyqa.colbert_index import BiEncoderReranker, FusedRetriever
from polyqa.extractive.prompt import Prompt
from polyqa.programs import TreeOfClarifications
from polyqa.programs.tree import NodeStatus

Parts = tuple[FusedRetriever, BiEncoderReranker]
QUESTION = "When did Titanic come out?"
FILM, MUSICAL = "When did the 1953 film Titanic come out?", "When did the musical Titanic open?"
IN_AMERICA = "When did the 1953 film Titanic come out in America?"
CLARIFIED = {
    QUESTION: [(FILM, "April 1953"), (MUSICAL, "23 April 1997"), ("Who built the Titanic?", "Harland and Wolff")],
    FILM: [(IN_AMERICA, "April 1953"), (FILM, "April 1953"), ("Who directed it?", "Jean Negulesco")],
}


def clarify(prompt: Prompt) -> dict[str, object]:
    """Clarify by the table; hold what asks for people to be beside the point."""
    if "fitting" in prompt.output_fields:
        return {"fitting": "No" if prompt.inputs["candidate"] in ("Harland and Wolff", "Jean Negulesco") else "Yes"}
    if "answer" in prompt.output_fields:
        return {"answer": "It depends."}
    found = CLARIFIED.get(prompt.inputs["question"], [])
    return {"interpretations": [{"question": question, "answer": answer} for question, answer in found]}


def scripted(program: TreeOfClarifications, engine: ScriptedEngine) -> dspy.Prediction:
    with dspy.context(lm=scripted_lm(engine), adapter=dspy.ChatAdapter()):
        return program(question=QUESTION)


def test_nodes_are_clarified_verified_against_the_root_and_told(parts: Parts) -> None:
    engine = ScriptedEngine(clarify)
    result = scripted(TreeOfClarifications(*parts, preset="paper"), engine)
    # Each node is clarified from passages that are ranked by its own question.
    expansions = {prompt.inputs["question"]: prompt.inputs["passages"] for prompt in engine.asked("interpretations")}
    assert next(iter(expansions)) == QUESTION
    assert expansions.keys() == {QUESTION, FILM, MUSICAL, IN_AMERICA}
    assert expansions[FILM].startswith("[1] «Titanic (1953 film)")
    assert expansions[MUSICAL].startswith("[1] «Titanic (musical)")
    read = {title for passages in expansions.values() for title in re.findall(r"«(.*?) \|", passages)}
    assert read == {passage.title for passage in result.universe}
    # Nodes are verified against the root with a passage that holds their answer.
    checks = engine.asked("fitting")
    assert {prompt.inputs["question"] for prompt in checks} == {QUESTION}
    assert all(prompt.inputs["candidate"] in prompt.inputs["passage"] for prompt in checks)
    # "April 1953" came again below the 1953 film: a reading of its own, but not verified a second time.
    assert sorted(prompt.inputs["candidate"] for prompt in checks) == sorted(
        ["April 1953", "23 April 1997", "Harland and Wolff", "Jean Negulesco"]
    )
    assert [(one.question, one.pid) for one in result.interpretations] == [
        (FILM, "titanic-film-1953"),
        (MUSICAL, "titanic-musical"),
        (IN_AMERICA, "titanic-film-1953"),
    ]
    below = {node.question: [child.question for child in node.children] for node in result.tree.breadth_first()}
    assert (below[FILM], below[MUSICAL]) == ([IN_AMERICA, "Who directed it?"], [])
    statuses = {node.answer: node.status for node in result.tree.breadth_first()}
    assert statuses["Harland and Wolff"] is statuses["Jean Negulesco"] is NodeStatus.PRUNED
    # The answer is written from passages that hold the answers first.
    assert [passage.pid for passage in result.passages[:2]] == ["titanic-film-1953", "titanic-musical"]
    assert len(result.passages) == 5
    (written,) = engine.asked("answer")
    assert [one["pid"] for one in json.loads(written.inputs["interpretations"])] == ["1", "2", "1"]


def test_without_pruning_nothing_is_verified(parts: Parts) -> None:
    engine = ScriptedEngine(clarify)
    result = scripted(TreeOfClarifications(*parts, preset="paper", pruning=False), engine)
    assert engine.asked("fitting") == []
    assert [one.answer for one in result.interpretations] == [
        "April 1953",
        "23 April 1997",
        "Harland and Wolff",
        "April 1953",
        "Jean Negulesco",
    ]


def test_when_everything_is_pruned_the_nodes_nearest_the_root_come_back(parts: Parts) -> None:
    def refuse(prompt: Prompt) -> dict[str, object]:
        return {"fitting": "No"} if "fitting" in prompt.output_fields else clarify(prompt)

    result = scripted(TreeOfClarifications(*parts, preset="paper"), ScriptedEngine(refuse))
    assert [one.question for one in result.interpretations] == [FILM, MUSICAL]
    assert [node.status for node in result.tree.children] == [
        NodeStatus.RESTORED,
        NodeStatus.RESTORED,
        NodeStatus.PRUNED,
    ]


def test_depth_one_is_clarification_without_a_tree(parts: Parts) -> None:
    engine = ScriptedEngine(clarify)
    scripted(TreeOfClarifications(*parts, preset="paper", depth=1), engine)
    assert len(engine.asked("interpretations")) == 1


def test_its_tree_is_json(parts: Parts, embedded: dspy.LM) -> None:
    result = polyqa.ask(QUESTION, program=TreeOfClarifications(*parts), lm=embedded)
    tree = json.loads(json.dumps(result.to_dict()))["tree"]
    assert tree["question"] == QUESTION
    assert tree["children"]
