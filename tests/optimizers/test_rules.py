"""InferRules: every candidate has rules of its own, and what labels say nothing about stays as it is."""

import dspy
import pytest
from small_recipes import NO_DEMOS

from polyqa.optimizers.rules import LabelledRules


class Two(dspy.Module):
    def __init__(self) -> None:
        super().__init__()
        self.ask = dspy.Predict("question, passages -> answer")
        self.judge = dspy.Predict("answer -> verdict")

    def forward(self, question: str) -> dspy.Prediction:
        return dspy.Prediction(answer=self.ask.signature.instructions)


DEMO = {"question": "When was it built?", "passages": "[1] a secret", "answer": "1902"}
ROWS = [dspy.Example(question=f"Question {n}?").with_inputs("question") for n in range(4)]
SETTINGS = {"metric": lambda gold, said, trace=None: float("year" in said.answer), "num_candidates": 2, **NO_DEMOS}


@pytest.fixture
def writer(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Have the rules written by hand, better ones first; return what the writer was shown."""
    shown: list[str] = []

    def write(self: dspy.Predict, examples: str) -> dspy.Prediction:
        shown.append(examples)
        return dspy.Prediction(rules=["Give a year.\nGive no month.\nGive no day.", "Write a poem."][len(shown) - 1])

    monkeypatch.setattr("dspy.Predict.__call__", write)
    return shown


@pytest.mark.parametrize("labeled", [0, 1])
def test_rules_are_tried_beside_the_demos_that_there_are(labeled: int, writer: list[str]) -> None:
    program = Two()
    program.ask.demos = [DEMO]
    rules = LabelledRules({"ask": [DEMO], "judge": []}, program, dspy.LM("openai/writer"), num_rules=2, **SETTINGS)
    rules.max_labeled_demos = labeled  # DSPy's own come before
    made = rules.compile(program, trainset=ROWS[:2], valset=ROWS[2:])
    assert "Give a year." in made.ask.signature.instructions
    assert [DEMO in one.demos for one in made.predictors()] == [not labeled, False]


def test_the_best_rules_are_those_that_the_program_has_and_labels_are_what_they_come_from(writer: list[str]) -> None:
    program = Two()
    rules = LabelledRules({"ask": [DEMO], "judge": []}, program, dspy.LM("openai/writer"), num_rules=2, **SETTINGS)
    first = program.ask.signature.instructions
    best = rules.compile(program, trainset=ROWS, valset=ROWS[:2])
    assert best.ask.signature.instructions == f"{first}\n\nFollow these rules:\n- Give a year.\n- Give no month."
    assert best.judge.signature.instructions == program.judge.signature.instructions
    assert program.ask.signature.instructions == first
    assert [(one["score"], "poem" in one["program"].ask.signature.instructions) for one in best.candidate_programs] == [
        (100.0, False),
        (0.0, True),
    ]
    assert "1902" in writer[0]
    assert "secret" not in writer[0]


def test_dspys_own_still_shares_instructions_between_candidates(writer: list[str]) -> None:
    """Once this fails, `update_program_instructions` need not be ours any more."""
    own = dspy.InferRules(**SETTINGS)
    own.induce_natural_language_rules = lambda predictor, trainset: rules.pop(0)
    rules = ["Give a year.", "-", "Write a poem.", "-"]
    best = own.compile(Two(), trainset=ROWS, valset=ROWS[:2])
    assert "poem" in best.ask.signature.instructions
