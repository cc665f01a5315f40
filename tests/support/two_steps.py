"""A small program of two steps and the language model that runs it and writes its instructions, which are counted."""

import collections
import hashlib
import threading

import dspy
from scripted_engine import ScriptedEngine
from writing_engine import instructed, prompt_if_any

from polyqa.extractive.prompt import Prompt
from polyqa.models import Encoder
from polyqa.programs import KNNPredict

ANSWERS = ("In sense 0 {name} is blue. In sense 1 {name} is green.", "{name} is blue.", "Nobody knows.")
"""To `harness.questions`; only the first scores above 0."""


class TwoSteps(dspy.Module):
    """Gives a hint, then the answer."""

    def __init__(self, encoder: Encoder | None = None) -> None:
        super().__init__()
        self.hint = KNNPredict("question -> hint", encoder=encoder)
        self.answer = KNNPredict("question, hint -> answer", encoder=encoder)

    def forward(self, question: str) -> dspy.Prediction:
        hint = self.hint(question=question).hint
        return dspy.Prediction(answer=self.answer(question=question, hint=hint).answer)

    async def aforward(self, question: str) -> dspy.Prediction:
        hint = (await self.hint.acall(question=question)).hint
        return dspy.Prediction(answer=(await self.answer.acall(question=question, hint=hint)).answer)


class OneStep(dspy.Module):
    """Answers at once, with DSPy's own predictor."""

    def __init__(self) -> None:
        super().__init__()
        self.answer = dspy.Predict("question -> answer")

    def forward(self, question: str) -> dspy.Prediction:
        return dspy.Prediction(answer=self.answer(question=question).answer)


class StepsEngine(ScriptedEngine):
    """Answers the programs' prompts by chance, and an optimizer's with instructions; ``written`` counts the latter.

    What comes of chance is drawn by the prompt, and by how often it was asked before.
    """

    def __init__(self) -> None:
        super().__init__(self._reply, given=prompt_if_any)
        self.written = 0
        self._asked: collections.Counter[str] = collections.Counter()
        self._counting = threading.Lock()

    def _reply(self, prompt: Prompt) -> dict[str, str] | str:
        with self._counting:
            if "question" not in prompt.input_fields:
                self.written += 1
                return instructed(prompt, f"Instruction {self.written}.", ("hint", "answer"))
            asked = f"{prompt.instructions} {prompt.demos} {prompt.inputs}"
            self._asked[asked] += 1
            drawn = hashlib.sha256(f"{asked} {self._asked[asked]}".encode()).digest()[0]
        name = prompt.inputs["question"].split()[-1].rstrip("?")
        return dict.fromkeys(prompt.output_fields, ANSWERS[drawn % len(ANSWERS)].format(name=name))
