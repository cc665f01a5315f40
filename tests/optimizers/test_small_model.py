"""DSPy's optimizers that write instructions run with a small model as task and prompt LM, however bad its proposals.

The replies of SmolLM2-135M are recorded. Where a prompt has changed, delete the file of the recipe and run the test
again: it records, with the model that `polyqa model pull smollm2-135m` brings.
"""

import gzip
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.utils.callback import BaseCallback

from polyqa.language_models import language_model
from polyqa.metrics.exact_presence import normalize_answer
from polyqa.models import Reader
from polyqa.models.gguf import model_file
from polyqa.optimizers import Plan, Recipe, compile
from polyqa.programs import KNNPredict

RECORDINGS = Path(__file__).parent / "recordings"
MODEL = "local/smollm2-135m"
RECIPES = {
    "COPRO": {"breadth": 3, "depth": 2},
    "MIPROv2": {"num_candidates": 2, "num_trials": 2, "max_bootstrapped_demos": 1, "max_labeled_demos": 1},
    "SIMBA": {"num_candidates": 2, "max_steps": 2, "max_demos": 0},
    "InferRules": {"num_candidates": 2, "num_rules": 2},
    "GEPA": {"max_metric_calls": 8, "reflection_minibatch_size": 1, "skip_perfect_score": False},
}
TRAIN, DEV = (
    [dspy.Example(question=question, answer=answer).with_inputs("question") for question, answer in pairs]
    for pairs in (
        [
            ("What is the capital of France?", "Paris"),
            ("Which language is spoken in Brazil?", "Portuguese"),
            ("What colour is the sky on a clear day?", "blue"),
            ("Who wrote Hamlet?", "Shakespeare"),
        ],
        [("What is the capital of Italy?", "Rome"), ("Which animal barks?", "dog")],
    )
)


class Answering(dspy.Module):
    """Its code is in the prompts of SIMBA."""

    def __init__(self) -> None:
        super().__init__()
        self.reply = KNNPredict(dspy.Signature("question -> answer"))

    def forward(self, question: str) -> dspy.Prediction:
        return self.reply(question=question)


def has_answer(gold: dspy.Example, prediction: Any, trace: Any = None) -> float:
    return float(normalize_answer(gold.answer) in normalize_answer(prediction.answer))


class Writings(BaseCallback):
    """What the optimizers' own predictors got from the prompt LM, or why they got nothing."""

    def __init__(self) -> None:
        self.replies: list[Any] = []
        self._calls: set[str] = set()

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        if type(instance) is dspy.Predict:
            self._calls.add(call_id)

    def on_module_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        if call_id in self._calls:
            self.replies.append(exception or outputs)


def models(path: Path) -> tuple[dspy.LM, dspy.LM]:
    """Return the task LM and the prompt LM, as the command line makes them."""
    if path.exists():
        name = f"recorded/{path}"
        return language_model(name, max_tokens=40), language_model(name, max_tokens=300, temperature=1.0)
    model_file(MODEL.partition("/")[2])
    settings = {"threads": 1, "slots": 1, "record": path}
    writing = {"max_tokens": 300, "temperature": 1.0}
    return language_model(MODEL, max_tokens=40, **settings), language_model(MODEL, **writing, **settings)


@pytest.mark.parametrize("optimizer", RECIPES)
def test_a_small_model_answers_and_writes(optimizer: str, reader: Reader, tmp_path: Path) -> None:
    settings = RECIPES[optimizer]
    recipe = Recipe(name=optimizer.lower(), optimizer=optimizer, settings=settings)
    lm, prompt_lm = models(RECORDINGS / f"{optimizer.lower()}.jsonl.gz")
    plan = Plan.of(TRAIN, DEV, has_answer, recipe=recipe, lm=lm, reader=reader, prompt_lm=prompt_lm, threads=1)
    writings = Writings()
    with dspy.context(callbacks=[writings]):
        made = compile(Answering(), plan, tmp_path)
    assert writings.replies
    assert all(isinstance(reply, dspy.Prediction) for reply in writings.replies)
    assert made.after.failed == 0
    with dspy.context(lm=lm):
        assert made.program(question=DEV[0].question).answer
    if optimizer == "GEPA":
        assert made.trials[1].note == "rejected: 1.00 of 1 on its minibatch, its parent 1.00"
        assert made.trials[1].parent == 0
        assert "reply" in made.trials[1].instructions
    if optimizer == "MIPROv2":
        with gzip.open(RECORDINGS / "miprov2.jsonl.gz", "rt") as lines:
            assert KNNPredict.__name__ not in lines.read(), "the writer is shown the source of this house"
    if optimizer == "COPRO":
        assert made.trials[3].note == "dropped: 75.0, the best 100.0"
