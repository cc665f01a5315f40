"""MADAM-RAG: who is asked in which round, when the debate ends, and what the aggregator's readings cite."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import dspy
import pytest
from scripted_engine import ScriptedEngine, scripted_lm

from polyqa.base.values import Passage
from polyqa.colbert_index import BiEncoderReranker
from polyqa.extractive.prompt import Prompt
from polyqa.models import Encoder
from polyqa.programs.madam_rag import MadamRAG

QUESTION = "When was the mill opened?"
TEXTS = {"kiel": "opened in 1902", "perth": "opened in 1911", "noise": "is red"}
FOUND = [Passage(pid=pid, title=f"{pid} | Mills", text=f"The mill {text}.") for pid, text in TEXTS.items()]
COLLECTED = [
    {"question": f"{QUESTION} ({year})", "answer": year, "pid": pid} for year, pid in (("1902", "1"), ("1911", "2"))
]


def agents(changes: int) -> ScriptedEngine:
    """Agents that answer from their documents; the one of Perth changes its mind so many times."""
    minds = iter([str(1911 + at) for at in range(1, changes + 1)])
    last = ["1911"]

    def reply(prompt: Prompt) -> Mapping[str, object]:
        if "replies" in prompt.inputs:
            return {"interpretations": COLLECTED, "answer": "In 1902, or in 1911."}
        year = next((one for one in ("1902", "1911") if one in prompt.inputs["passage"]), "null")
        if "summary" in prompt.inputs and year == "1911":
            last[0] = year = next(minds, last[0])
        return {"short_answer": year, "explanation": "null" if year == "null" else f"It says {year}."}

    return ScriptedEngine(reply)


def asked(engine: ScriptedEngine, encoder: Encoder, **settings: Any) -> dspy.Prediction:
    retriever: Any = SimpleNamespace(search=lambda query, k: FOUND)
    program = MadamRAG(retriever, BiEncoderReranker(encoder), passages=3, candidates=3, encoder=encoder, **settings)
    with dspy.context(lm=scripted_lm(engine)):
        return program(question=QUESTION)


@pytest.mark.parametrize(
    ("settings", "changes", "rounds", "calls"),
    [
        ({}, 0, 2, 4 + 2),  # those that gave an answer are asked again, and keep it
        ({}, 1, 3, 4 + 3 + 2),  # one changes: the aggregator reads again; then nobody does
        ({}, 5, 3, 4 + 3 + 3),  # it ends after the third round
        ({"rounds": 1}, 5, 1, 4),
        ({"preset": "paper"}, 0, 2, 4 + 3),  # all are asked again
        ({"preset": "paper"}, 5, 3, 4 + 4 + 4),
    ],
)
def test_the_debate_ends_when_nobody_changes(
    settings: dict[str, Any], changes: int, rounds: int, calls: int, encoder: Encoder
) -> None:
    engine = agents(changes)
    result = asked(engine, encoder, **settings)
    assert (result.rounds, len(engine.seen)) == (rounds, calls)
    assert sorted(map(str, result.agents))[0] == "1902"
    assert None in result.agents


def test_agents_that_agree_do_not_debate_unless_the_paper_has_it(encoder: Encoder) -> None:
    def reply(prompt: Prompt) -> Mapping[str, object]:
        if "replies" in prompt.inputs:
            return {"interpretations": COLLECTED[:1], "answer": "In 1902."}
        return {"short_answer": "1902", "explanation": "It says 1902."}

    assert asked(ScriptedEngine(reply), encoder).rounds == 1
    assert asked(ScriptedEngine(reply), encoder, preset="paper").rounds == 2


def test_what_agents_and_the_aggregator_are_shown(encoder: Encoder) -> None:
    engine = agents(0)
    result = asked(engine, encoder)
    prompts = engine.seen
    first = [prompt.inputs["passage"] for prompt in prompts[:3]]
    assert sorted(first) == sorted(f"{pid} ｜ Mills | The mill {text}." for pid, text in TEXTS.items())
    assert "kiel ｜ Mills | It says 1902. | 1902" in prompts[3].inputs["replies"]
    assert "It does not answer the question. | unknown" in prompts[3].inputs["replies"]
    assert all(prompt.inputs["summary"] == "1902; 1911. In 1902, or in 1911." for prompt in prompts[4:])
    by_pid = {passage.pid: passage.text for passage in result.passages}
    assert all(reading.answer in by_pid[reading.pid] for reading in result.interpretations)


def test_replies_that_cannot_be_read_leave_what_the_agents_said(encoder: Encoder) -> None:
    """An aggregator that fails is not the end of it."""
    good = agents(0)

    def reply(prompt: Prompt) -> Mapping[str, object]:
        if "replies" in prompt.inputs:
            return {"interpretations": "?!", "answer": ""}
        return dict(good.reply(prompt))

    result = asked(ScriptedEngine(reply), encoder, rounds=1)
    assert sorted(one.answer for one in result.interpretations) == ["1902", "1911"]
    assert "It says 1902." in result.answer
    assert "the answers of all documents are told" in str(result.faults[0])


def test_where_no_document_answers_an_aggregator_that_fails_leaves_that(encoder: Encoder) -> None:
    def reply(prompt: Prompt) -> Mapping[str, object]:
        return dict.fromkeys(prompt.output_fields, "?!" if "replies" in prompt.inputs else "null")

    result = asked(ScriptedEngine(reply), encoder)
    assert (result.interpretations, result.answer) == ([], "No document answers the question.")


def test_an_agent_whose_second_reply_cannot_be_had_keeps_its_answer(encoder: Encoder) -> None:
    good = agents(0)

    def reply(prompt: Prompt) -> Mapping[str, object] | str:
        return "" if "summary" in prompt.inputs else dict(good.reply(prompt))

    result = asked(ScriptedEngine(reply), encoder)
    assert sorted(filter(None, result.agents)) == ["1902", "1911"]
    assert {fault.became for fault in result.faults} == {"the agent keeps its answer"}
