"""A real language model of 135 million parameters behind `dspy.LM`."""

import asyncio
import math
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.utils.exceptions import ContextWindowExceededError
from local_model import local_lm

from polyqa.base.errors import PolyqaError
from polyqa.language_models import default_threads, language_model
from polyqa.lm.calls import CALLS
from polyqa.lm.grammar import reply_grammar
from polyqa.lm.local import LocalLM, LocalSettings
from polyqa.lm.probabilities import gives_probabilities, probability_of_first, probability_of_yes
from polyqa.lm.recorded import attempt, recorded
from polyqa.loading import default_program
from polyqa.programs import KNNPredict
from polyqa.programs.passages_read import READING
from polyqa.signatures import ReadPassage, TellFindings, VerifyFinding

LONG = "Tell a long story about a cat and a dog."
pytestmark = pytest.mark.slow


def test_it_answers_in_threads_and_in_loops_alike(lm: LocalLM) -> None:
    first = lm("What is the capital of France?")
    assert first[0]
    assert lm.history[-1]["usage"]["completion_tokens"] > 0
    assert asyncio.run(lm.acall("What is the capital of France?")) == first
    assert asyncio.run(lm.acall("What is the capital of France?")) == first  # another loop
    with ThreadPoolExecutor(8) as pool:  # more than there are slots
        assert list(pool.map(lm, ["What is the capital of France?"] * 8)) == [first] * 8


def test_two_models_of_a_file_share_its_server(lm: LocalLM) -> None:
    lm("Hi.")
    other = local_lm(temperature=0.5)
    other("Hi.")
    assert other.server is lm.server
    assert lm.copy(max_tokens=3).server is lm.server
    assert local_lm(context=512).server is not lm.server


def test_its_names(lm: LocalLM) -> None:
    assert lm.model == "local/smollm2-135m"
    assert (lm.takes_grammar, gives_probabilities(lm), default_threads(lm)) == (True, True, 1)
    assert default_program(lm) == "spanwise"


@pytest.mark.parametrize(
    ("name", "settings", "told"),
    [
        ("local/nothing", {}, "polyqa knows qwen2.5-coder-1.5b"),
        ("local/nothing.gguf", {}, "There is no file nothing.gguf"),
        ("local", {"threads": 0}, "threads"),
        ("local/smollm2-135m", {"api_base": "http://127.0.0.1:1/v1"}, "takes no address"),
    ],
)
def test_what_cannot_be_asked_is_one_line(lm: LocalLM, name: str, settings: dict[str, Any], told: str) -> None:
    if name == "local":
        name = f"local/{lm.server.path}"
    with pytest.raises(PolyqaError, match=told) as error:
        language_model(name, **settings)
    assert "\n" not in str(error.value)


def judged(lm: dspy.LM) -> dspy.Prediction:
    verify = KNNPredict(VerifyFinding, probabilities=True)
    with dspy.context(lm=lm):
        return verify(
            question="When did it end?",
            finding="War | It ended in 1945. | 1945",
            config={"metadata": {"grammar": 'root ::= "Yes" | "No"'}},
        )


def test_a_grammar_and_probabilities(lm: LocalLM) -> None:
    assert lm("Is the sky blue?", metadata={"grammar": 'root ::= "Perhaps"'}) == ["Perhaps"]
    made = judged(lm)
    assert made.logprobs is not None
    assert 0 < probability_of_yes(made, "Yes") < 1


def test_a_passage_is_answered_in_any_case_and_it_is_told_how_likely_none_was(lm: LocalLM) -> None:
    grammar = READING["config"]["metadata"]["grammar"]
    read = KNNPredict(ReadPassage, probabilities=True)
    with dspy.context(lm=lm):
        made = read(question="Who won?", passage="War | It ended.", config={"metadata": {"grammar": grammar}})
    assert made.answers
    assert not made.answers.startswith("none")
    first = made.logprobs["content"][0]
    assert probability_of_first(made, first["token"]) == pytest.approx(math.exp(first["logprob"]), abs=1e-3)
    assert probability_of_first(made, "none") < 1


@pytest.mark.parametrize("signature", CALLS, ids=lambda signature: signature.__name__)
def test_llama_cpp_takes_the_grammar_of_every_call(lm: LocalLM, signature: type[dspy.Signature]) -> None:
    inputs = {"passages": ["A | B."] * 20, "question": "Who?"}
    grammar = reply_grammar(signature, {**inputs, "findings": ["A | B. | B"]} if signature is TellFindings else inputs)
    assert grammar is not None
    assert lm("Who?", metadata={"grammar": grammar}, max_tokens=5)


def test_what_is_drawn_has_a_seed(lm: LocalLM) -> None:
    def drawn(rollout: int, **settings: Any) -> Any:
        return local_lm(**settings)(LONG, temperature=1.0, rollout_id=rollout)

    assert drawn(1) == drawn(1) != drawn(2)
    assert drawn(1) != drawn(1, seed=5)
    with attempt(2):
        again = drawn(1)
    assert again != drawn(1), "another attempt draws otherwise"


def test_a_recording_draws_the_same(lm: LocalLM, tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl.gz"
    recording = recorded(file, lm)
    said = [recording(LONG, temperature=1.0, rollout_id=rollout)[0] for rollout in (1, 2)]
    assert said == [lm(LONG, temperature=1.0, rollout_id=rollout)[0] for rollout in (1, 2)]
    made = judged(recording)
    replayed = recorded(file)
    assert (replayed.takes_grammar, replayed.gives_probabilities) == (True, True)
    assert [replayed(LONG, temperature=1.0, rollout_id=rollout)[0] for rollout in (1, 2)] == said
    again = judged(replayed)
    assert again.holds == made.holds
    assert probability_of_yes(again, "Yes") == pytest.approx(probability_of_yes(made, "Yes"), abs=1e-3)


def test_a_prompt_that_does_not_fit_says_so(lm: LocalLM) -> None:
    with pytest.raises(ContextWindowExceededError, match="does not fit into the 1,024 tokens of context"):
        lm("word " * 2_000)


def test_waiting_for_a_slot_does_not_count(lm: LocalLM) -> None:
    slow = local_lm(max_tokens=60, timeout=5.0)
    slow("Hi.")
    started = time.monotonic()
    slow(LONG)
    one = time.monotonic() - started
    patient = local_lm(max_tokens=60, timeout=max(1.0, 3 * one))
    with ThreadPoolExecutor(8) as pool:  # the last waits longer than a call may take
        assert all(pool.map(patient, [LONG] * 8))


def test_it_travels_as_a_name_and_settings(lm: LocalLM) -> None:
    state = lm.dump_state()
    assert "key" not in str(state).lower().replace("keys", "")
    engine = type(lm.engine).load_state(lm.engine.dump_state())
    assert engine.server.settings == LocalSettings(threads=1, slots=1, context=1024, prompt_cache=0)
