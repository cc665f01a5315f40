"""The embedded writer of instructions answers DSPy's optimizers with clauses, those first that something speaks for."""

from itertools import islice
from typing import Any

import dspy
import pytest
from dspy.teleprompt.copro_optimizer import BasicGenerateInstruction, GenerateInstructionGivenAttempts
from dspy.teleprompt.gepa.instruction_proposal import CompressInstruction, ProposeInstruction
from dspy.teleprompt.simba_utils import OfferFeedback, inspect_modules

import polyqa
from polyqa.extractive import PROPOSER
from polyqa.language_models import Models
from polyqa.lm.adapter import LeanAdapter
from polyqa.optimizers.clauses import LIBRARY
from polyqa.optimizers.proposer import clauses_of, proposals, proposer_lm, suggestions
from polyqa.signatures import ClarifyQuestion, VerifyInterpretation

OWN = ClarifyQuestion.instructions
TEXTS = {one.text for one in LIBRARY[ClarifyQuestion]}
ADAPTERS = pytest.mark.parametrize(
    "adapter", [LeanAdapter(), dspy.ChatAdapter(), dspy.JSONAdapter()], ids=lambda one: type(one).__name__
)


def added(instruction: str) -> str:
    assert instruction.startswith(" ".join(OWN.split()[:3]))
    return instruction.splitlines()[-1]


@ADAPTERS
def test_copro_gets_a_new_clause_in_each_reply(adapter: dspy.Adapter) -> None:
    with dspy.context(lm=proposer_lm(), adapter=adapter):
        said = dspy.Predict(BasicGenerateInstruction, n=5, temperature=1.4)(basic_instruction=OWN)
    clauses = [added(one) for one in said.completions.proposed_instruction]
    assert len(set(clauses)) == 5
    assert set(clauses) <= TEXTS


@ADAPTERS
def test_copros_attempts_are_read_and_the_best_one_goes_on(adapter: dspy.Adapter) -> None:
    first, second, *_ = LIBRARY[ClarifyQuestion]
    beside_first = {one.text for one in LIBRARY[ClarifyQuestion] if one.group != first.group}
    attempts = []
    for number, (text, score) in enumerate(((f"{OWN}\n{first.text}", 30.5), (f"{OWN}\n{second.text}", 12)), 1):
        attempts += [f"Instruction #{number}: {text}", f"Prefix #{number}: ", f"Resulting Score #{number}: {score}"]
    with dspy.context(lm=proposer_lm(), adapter=adapter):
        said = dspy.Predict(GenerateInstructionGivenAttempts, n=4)(attempted_instructions=attempts)
    for one in said.completions.proposed_instruction:
        assert added(one) not in (first.text, second.text)
        assert second.text not in one
        assert (first.text in one) == (added(one) in beside_first)
        assert "»" not in one


FEEDBACK = "This step overlooked readings whose answers stand in its passages:\n- a? → “b”"
LONG = "It has 20 words; good answers to this question have about 64."


@ADAPTERS
@pytest.mark.parametrize(
    ("feedback", "clause"),
    [
        ([FEEDBACK], "Give every possible reading, also those that are not certain."),
        (
            ["It extracted readings that are not wanted, or have a wrong answer:"],
            "Leave out every reading that you are",
        ),
        ([LONG, LONG.replace("64", "70")], "Write about 70 words."),
    ],
)
def test_gepas_feedback_decides_the_clause(feedback: list[str], clause: str, adapter: dspy.Adapter) -> None:
    shown = [{"Inputs": {"question": "q"}, "Generated Outputs": "x", "Feedback": one} for one in feedback]
    with dspy.context(lm=proposer_lm(), adapter=adapter):
        said = dspy.Predict(ProposeInstruction)(current_instruction=OWN, examples_with_feedback=shown)
    assert added(said.new_instruction).startswith(clause)


def test_what_feedback_says_most_often_comes_first() -> None:
    lines = ["this step said Yes, but the passages do not hold the answer"] * 2
    lines += ["this step said No, but the passages do hold the answer"]
    candidates = LIBRARY[VerifyInterpretation]
    assert [one.name for one in suggestions("\n".join(lines), candidates)] == ["no-in-doubt", "yes-in-doubt"]
    assert suggestions("All is well.", candidates) == []


def test_simba_gets_advice_for_every_module() -> None:
    program = polyqa.load("rac")
    given: dict[str, Any] = dict.fromkeys(OfferFeedback.input_fields, "-")
    given |= {"modules_defn": inspect_modules(program), "module_names": ["clarify"], "worse_reward_info": FEEDBACK}
    given |= {"worse_reward_value": 0.1, "better_reward_value": 0.9}
    with dspy.context(lm=proposer_lm(), adapter=dspy.ChatAdapter()):
        advice = dspy.Predict(OfferFeedback)(**given).module_advice
    assert advice == {"clarify": "Give every possible reading, also those that are not certain."}


def test_an_instruction_that_is_too_long_keeps_its_last_clause() -> None:
    with dspy.context(lm=proposer_lm(), adapter=LeanAdapter()):
        said = dspy.Predict(CompressInstruction)(
            instruction="First line.\nSecond line.\nQuote.", length_limit="at most 20 characters"
        )
    assert said.shortened_instruction == "First line.\nQuote."


@pytest.mark.parametrize("task", LIBRARY, ids=lambda task: task.__name__)
def test_the_task_is_known_by_its_instruction(task: type[dspy.Signature]) -> None:
    assert clauses_of(f"{task.instructions}\nBe careful.") == LIBRARY[task]


def test_of_an_unknown_task_any_clause_is_proposed() -> None:
    assert len(clauses_of("Write a poem.")) > len(TEXTS)


def test_proposals_begin_with_single_clauses_and_go_on_with_pairs() -> None:
    count = len(LIBRARY[ClarifyQuestion])
    told = list(islice(proposals(OWN), count + 5))
    assert {added(one) for one in told[:count]} == TEXTS
    assert told == list(islice(proposals(OWN), count + 5))
    assert all(sum(text in one for text in TEXTS) <= 2 for one in told[count:])


@pytest.mark.parametrize("signature", ["text -> answer", "text -> translation"])
def test_nothing_else_is_answered(signature: str) -> None:
    asking = dspy.Predict(signature)
    with dspy.context(lm=proposer_lm(), adapter=LeanAdapter()), pytest.raises(Exception, match="answers nothing else"):
        asking(text="x")


def test_it_writes_for_the_embedded_engine_and_answers_no_questions() -> None:
    models = Models()
    assert models.writing(models.answering()).model == PROPOSER
    assert Models(prompt_lm=PROPOSER).writing(dspy.LM("openai/x", api_key="none")).model == PROPOSER
    with pytest.raises(polyqa.PolyqaError, match="answers no questions"):
        Models(lm=PROPOSER).answering()
