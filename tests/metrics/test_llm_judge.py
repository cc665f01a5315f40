import json
import re
from typing import Any

import dspy
import pytest
from dspy.clients.cache import Cache
from dspy.utils.exceptions import AdapterParseError
from openai_server import serve
from scripted_engine import ScriptedEngine, scripted_lm

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Interpretation, Passage
from polyqa.extractive.prompt import Prompt
from polyqa.metrics.gold import Question, Reading
from polyqa.metrics.judges import Claim, judge_readings
from polyqa.metrics.llm_judge import LLMJudge

CLAIMS = [Claim(f"Who won in {year}?", (f"winner of {year}",)) for year in (1998, 2002, 2006)]
PASSAGES = [Passage(pid=str(year), title="Games", text=f"The winner of {year} is known.") for year in (1998, 2002)]
PAIRS = [(claim, passage) for claim in CLAIMS for passage in PASSAGES]


def sensible(prompt: Prompt) -> dict[str, str]:
    """Judge by spelling: readings are the same if equal, a passage supports an answer that stands in it."""
    shown = prompt.inputs
    if "passage" in shown:
        return {"supported": "Yes" if shown["answer"] in shown["passage"] else "No."}
    readings = {
        name: [line.split(" ", 1)[1] for line in shown[name].splitlines()]
        for name in ("readings", "found", "wanted")
        if name in shown
    }
    if "found" in readings:
        return {"covered": str([n for n, text in enumerate(readings["wanted"], 1) if text in readings["found"]])}
    texts = readings["readings"]
    return {"kept": str([number for number, text in enumerate(texts, 1) if text not in texts[: number - 1]])}


@pytest.fixture
def engine() -> ScriptedEngine:
    return ScriptedEngine(sensible, latency=0.05)


@pytest.fixture
def judge(engine: ScriptedEngine) -> LLMJudge:
    return LLMJudge(scripted_lm(engine))


def test_support_is_asked_pair_by_pair_and_several_at_once(judge: LLMJudge, engine: ScriptedEngine) -> None:
    assert judge.supported(PAIRS) == [claim.answers[0] in passage.text for claim, passage in PAIRS]
    assert len(engine.seen) == len(PAIRS)
    first = {"passage": "Games | The winner of 1998 is known.", "question": "Who won in 2002?"}
    assert {**first, "answer": "winner of 2002"} in [prompt.inputs for prompt in engine.seen]
    assert engine.most_at_once > 1


def test_no_more_pairs_at_once_than_threads_and_the_answers_of_a_claim_together(
    judge: LLMJudge, engine: ScriptedEngine
) -> None:
    pairs = [(Claim("Who?", ("She", "Her")), PASSAGES[0]), (Claim("Who?"), PASSAGES[0])]
    LLMJudge(judge.lm, threads=1).supported(pairs)
    assert engine.most_at_once == 1
    assert [prompt.inputs["answer"] for prompt in engine.seen] == ["She or Her", "any"]


def test_readings_are_matched_by_number(judge: LLMJudge, engine: ScriptedEngine) -> None:
    assert judge.covered("Who won?", CLAIMS[1:], CLAIMS) == [False, True, True]
    assert judge.covered("Who won?", CLAIMS[:1], CLAIMS[1:]) == [False, False]
    shown = engine.seen[0].inputs
    assert shown["question"] == "Who won?"
    assert [re.findall(r"\d+", line)[0] for line in shown["wanted"].splitlines()] == ["1", "2", "3"]
    assert judge.distinct("Who won?", [*CLAIMS, CLAIMS[1]]) == [True, True, True, False]


def test_nothing_is_asked_where_there_is_nothing_to_ask(judge: LLMJudge, engine: ScriptedEngine) -> None:
    assert judge.supported([]) == []
    assert judge.covered("Who won?", [], CLAIMS) == [False] * 3
    assert judge.covered("Who won?", CLAIMS, []) == []
    assert judge.distinct("Who won?", []) == []
    assert judge.distinct("Who won?", CLAIMS[:1]) == [True]
    assert engine.seen == []


@pytest.mark.parametrize("reply", ["[4]", "[0]", "[1, 2, 17]", "[-1]", "1998"])
def test_a_number_that_was_not_shown_is_an_error(judge: LLMJudge, engine: ScriptedEngine, reply: str) -> None:
    engine.reply = lambda prompt: {"covered": reply, "kept": reply}
    number = json.loads(reply)[-1] if reply.startswith("[") else reply
    with pytest.raises(PolyqaError, match=f"{re.escape(judge.name)} named reading {number} of 3"):
        judge.covered("Who won?", CLAIMS, CLAIMS)
    with pytest.raises(PolyqaError, match="another judge"):
        judge.distinct("Who won?", CLAIMS)


def test_a_judge_that_keeps_no_reading_is_an_error(judge: LLMJudge, engine: ScriptedEngine) -> None:
    engine.reply = lambda prompt: {"covered": "none", "kept": "[]"}
    with pytest.raises(PolyqaError, match="kept none of 3 readings"):
        judge.distinct("Who won?", CLAIMS)
    assert judge.covered("Who won?", CLAIMS, CLAIMS) == [False] * 3


def test_a_verdict_that_could_not_be_read_is_asked_for_again(engine: ScriptedEngine, own_cache: Cache) -> None:
    engine.reply = lambda prompt: {"supported": "perhaps"}
    with serve(engine) as server:
        judge = LLMJudge(dspy.LM("openai/judge", api_base=server.base, api_key="none", temperature=0.0))
        with pytest.raises(AdapterParseError, match="perhaps"):
            judge.supported(PAIRS[:1])
        engine.reply = lambda prompt: {"supported": "Yes"}
        assert judge.supported(PAIRS[:1]) == judge.supported(PAIRS[:1]) == [True]
    assert len(server.requests) == 2


def test_calls_do_not_land_in_the_trace(judge: LLMJudge, engine: ScriptedEngine) -> None:
    with dspy.context(lm=None, trace=[]):
        judge.covered("Who won?", CLAIMS, CLAIMS)
        judge.supported(PAIRS)
        judge.distinct("Who won?", CLAIMS)
        assert dspy.settings.trace == []
    assert len(engine.seen) == 2 + len(PAIRS)


def test_tokens_are_counted_for_the_caller(judge: LLMJudge) -> None:
    with dspy.track_usage() as tracker:
        judge.supported(PAIRS)
    assert tracker.get_total_tokens()[judge.name]["prompt_tokens"] == len(PAIRS)


def test_a_language_model_judges_a_whole_question(judge: LLMJudge, engine: ScriptedEngine) -> None:
    question = Question("1", "Who won?", tuple(Reading(one.question, one.answers) for one in CLAIMS))
    found = [
        Interpretation(question=CLAIMS[0].question, answer="winner of 1998", pid="1998"),
        Interpretation(question="Who came second?", answer="winner of 2002"),
    ]
    result: Any = judge_readings(question, found, PASSAGES, judge)
    assert result.grounded == (True, True)
    assert result.matched == (True, False)
    assert result.found == (True, False, False)
    assert result.groundable == (True, True, False)
    assert result.supported == (True, True, False)
    assert result.distinct == 2
    assert result.repeated == (True, False)
    # One gold reading is in no passage, so the found ones are held against the other two again.
    assert len(engine.seen) == (2 + 1) + 1 + (1 + 2) + 3 * 2
