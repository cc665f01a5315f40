"""The extractive engine with a hand that can write: what it does not know it answers with made-up instructions."""

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace

import dspy
from dspy.lm15 import LM15Error, Message, Request, Response
from scripted_engine import ScriptedEngine, prompt_of

from polyqa.extractive import ExtractiveEngine
from polyqa.extractive.prompt import Prompt, PromptError, render_reply
from polyqa.lm.adapter import LeanAdapter

_HEEDED = "read every passage twice"


def prompt_if_any(request: Request) -> Prompt:
    """Return what a request asks; GEPA's reflection is no prompt of DSPy's, and asks for no field."""
    try:
        return prompt_of(request)
    except PromptError:
        return Prompt("", (), (), {})


def instructed(prompt: Prompt, instruction: str, steps: Sequence[str]) -> str:
    """Return the reply to an optimizer that is the same instruction for everything; GEPA wants a fenced block."""
    if not prompt.output_fields:
        return f"```\n{instruction}\n```"
    advice = json.dumps(dict.fromkeys(steps, instruction))
    return render_reply(
        prompt, {name: advice if name == "module_advice" else instruction for name in prompt.output_fields}
    )


class WritingEngine(ScriptedEngine):
    """Answers polyqa's prompts as the engine does, and an optimizer's prompts with numbered instructions.

    Unlike the engine it heeds instructions: without one that it wrote itself, and without a demo, it gives but
    the first words of a long answer, so that an optimizer has something to find.
    """

    def __init__(self, engine: ExtractiveEngine) -> None:
        super().__init__(self._reply, given=lambda request: request, usage=(50, 20))
        self.engine = engine
        self._numbers = itertools.count(1)

    def _reply(self, request: Request) -> Response | str:
        prompt = prompt_if_any(request)
        try:
            response = self.engine.complete(request)
        except LM15Error:
            return instructed(
                prompt, f"Instruction {next(self._numbers)}: {_HEEDED}, then answer.", ("extract", "write")
            )
        if prompt.demos or _HEEDED in prompt.instructions or prompt.output_fields[-1:] != ("answer",):
            return response
        told = LeanAdapter().parse(dspy.Signature(f"question -> {', '.join(prompt.output_fields)}"), _text(response))
        short = render_reply(prompt, {**told, "answer": " ".join(told["answer"].split()[:25])})
        return replace(response, message=Message.assistant(short))


def _text(response: Response) -> str:
    return response.message.text or ""
