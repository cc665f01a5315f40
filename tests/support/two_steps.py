"""A small program of two steps and the language model that runs it and writes its instructions, both counted."""

import asyncio
import collections
import hashlib
import itertools
import json
import threading
from typing import Any

import dspy
from dspy.lm15 import Request, Response
from scripted_engine import said

from polyqa.embedded_models import Encoder
from polyqa.engines.extractive.prompt import Prompt, PromptError, parse_prompt, render_reply
from polyqa.programs import KNNPredict

ANSWERS = ("In sense 0 {name} is blue. In sense 1 {name} is green.", "{name} is blue.", "Nobody knows.")
"""To `harness.questions`; only the first scores above 0."""


class TwoSteps(dspy.Module):
    """Gives a hint, then the answer; every run is counted, those of its copies included."""

    def __init__(self, encoder: Encoder | None = None) -> None:
        super().__init__()
        self.hint = KNNPredict("question -> hint", encoder=encoder)
        self.answer = KNNPredict("question, hint -> answer", encoder=encoder)
        self.runs = Runs()

    def forward(self, question: str) -> dspy.Prediction:
        """Answer a question."""
        self.runs.add()
        hint = self.hint(question=question).hint
        return dspy.Prediction(answer=self.answer(question=question, hint=hint).answer)

    async def aforward(self, question: str) -> dspy.Prediction:
        """See `forward`."""
        self.runs.add()
        hint = (await self.hint.acall(question=question)).hint
        return dspy.Prediction(answer=(await self.answer.acall(question=question, hint=hint)).answer)


class OneStep(dspy.Module):
    """Answers at once, with DSPy's own predictor."""

    def __init__(self) -> None:
        super().__init__()
        self.answer = dspy.Predict("question -> answer")
        self.runs = Runs()

    def forward(self, question: str) -> dspy.Prediction:
        """Answer a question."""
        self.runs.add()
        return dspy.Prediction(answer=self.answer(question=question).answer)


class Runs:
    """Counts; copies of it are itself."""

    def __init__(self) -> None:
        self.n = 0
        self._lock = threading.Lock()

    def add(self) -> None:
        """Count one more."""
        with self._lock:
            self.n += 1

    def __deepcopy__(self, memo: Any) -> "Runs":
        return self


class StepsEngine:
    """Answers the programs' prompts by chance, and an optimizer's with instructions.

    What comes of chance is drawn by the prompt, and by how often it was asked before. ``seen`` are the programs'
    prompts, ``written`` the number of the others.
    """

    def __init__(self) -> None:
        self.seen: list[Prompt] = []
        self.written = 0
        self._numbers = itertools.count(1)
        self._asked: collections.Counter[str] = collections.Counter()
        self._lock = threading.Lock()

    def complete(self, request: Request) -> Response:
        """Reply."""
        with self._lock:
            text = self._reply(request)
        return said(request, text)

    def _reply(self, request: Request) -> str:
        system = request.system
        head = system if isinstance(system, str) else "".join(part.text for part in system or ())
        try:
            prompt = parse_prompt(
                [("system", head), *((message.role, message.text or "") for message in request.messages)]
            )
        except PromptError:  # GEPA's reflection is no prompt of DSPy's, and wants a fenced block
            self.written += 1
            return f"```\nInstruction {next(self._numbers)}.\n```"
        if "question" in prompt.input_fields:
            self.seen.append(prompt)
            asked = f"{prompt.instructions} {prompt.demos} {prompt.inputs}"
            self._asked[asked] += 1
            drawn = hashlib.sha256(f"{asked} {self._asked[asked]}".encode()).digest()[0]
            name = prompt.inputs["question"].split()[-1].rstrip("?")
            text = ANSWERS[drawn % len(ANSWERS)].format(name=name)
            return render_reply(prompt, dict.fromkeys(prompt.output_fields, text))
        self.written += 1
        text = f"Instruction {next(self._numbers)}."
        advice = json.dumps({"hint": text, "answer": text})
        return render_reply(
            prompt, {name: advice if name == "module_advice" else text for name in prompt.output_fields}
        )


class _Async:
    def __init__(self, engine: StepsEngine) -> None:
        self.engine = engine

    async def complete(self, request: Request) -> Response:
        return await asyncio.to_thread(self.engine.complete, request)


def steps_lm(engine: StepsEngine) -> dspy.LM:
    """Return the engine as a language model."""
    return dspy.LM("tests/steps", engine=engine, async_engine=_Async(engine), cache=False, num_retries=0)
