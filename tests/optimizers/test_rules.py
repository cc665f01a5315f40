"""InferRules: every candidate has rules of its own, and what labels say nothing about stays as it is."""

import dspy
import pytest
from small_recipes import small

from polyqa.optimizers.rules import search_rules


class Two(dspy.Module):
    def __init__(self) -> None:
        super().__init__()
        self.ask = dspy.Predict("question, passages -> answer")
        self.judge = dspy.Predict("answer -> verdict")

    def forward(self, question: str) -> dspy.Prediction:
        return dspy.Prediction(answer=self.ask.signature.instructions)


DEMO = {"question": "When was it built?", "passages": "[1] a secret", "answer": "1902"}
ROWS = [dspy.Example(question=f"Question {n}?").with_inputs("question") for n in range(2)]
RECIPE = small("rules", "InferRules", num_candidates=2, num_rules=2)


@pytest.fixture
def writer(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Have the rules written by hand, better ones first; return what the writer was shown."""
    shown: list[str] = []

    def write(self: dspy.Predict, examples: str) -> dspy.Prediction:
        shown.append(examples)
        return dspy.Prediction(rules=["Give a year.\nGive no month.\nGive no day.", "Write a poem."][len(shown) - 1])

    monkeypatch.setattr("dspy.Predict.__call__", write)
    return shown


def test_the_best_rules_are_those_that_the_program_has_and_labels_are_what_they_come_from(writer: list[str]) -> None:
    program = Two()
    program.ask.demos = [DEMO]
    first = program.ask.signature.instructions
    evaluate = dspy.Evaluate(devset=ROWS, metric=lambda gold, said, trace=None: float("year" in said.answer))
    best = search_rules(program, RECIPE, {"ask": [DEMO], "judge": []}, dspy.LM("openai/writer"), evaluate)
    assert best.ask.signature.instructions == f"{first}\n\nFollow these rules:\n- Give a year.\n- Give no month."
    assert best.ask.demos == [DEMO]
    assert best.judge.signature.instructions == program.judge.signature.instructions
    assert program.ask.signature.instructions == first
    assert [(one["score"], "poem" in one["program"].ask.signature.instructions) for one in best.candidate_programs] == [
        (100.0, False),
        (0.0, True),
    ]
    assert "1902" in writer[0]
    assert "secret" not in writer[0]
