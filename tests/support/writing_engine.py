"""The extractive engine with a hand that can write: what it does not know it answers with made-up instructions."""

import itertools
import json
import re
import threading

from dspy.lm15 import LM15Error, Message, Request, Response, Usage

from polyqa.engines.extractive import ExtractiveEngine

_OUTPUTS = re.compile(r"Your output fields are:\n(.*?)\nAll interactions will be structured", re.S)
_HEEDED = "read every passage twice"
_FIELD = re.compile(r"^\d+\. `(\w+)`", re.M)


class WritingEngine:
    """Answers polyqa's prompts as the engine does, and an optimizer's prompts with numbered instructions.

    Unlike the engine it heeds instructions: without one that it wrote itself, and without a demo, it gives but
    the first words of a long answer, so that an optimizer has something to find.
    """

    def __init__(self, engine: ExtractiveEngine) -> None:
        self.engine = engine
        self.written: list[str] = []
        self._count = itertools.count(1)
        self._lock = threading.Lock()

    def complete(self, request: Request) -> Response:
        try:
            response = self.engine.complete(request)
        except LM15Error:
            return self._response(request, self._write(request), Usage(input_tokens=50, output_tokens=20))
        text = response.message.text or ""
        shown = any(message.role == "assistant" for message in request.messages)
        if shown or _HEEDED in _head(request) or "## answer ##" not in text:
            return response
        return self._response(request, _cut(text), response.usage)

    def _response(self, request: Request, text: str, usage: Usage) -> Response:
        return Response(
            id=None,
            model=request.model,
            message=Message.assistant(text),
            finish_reason="stop",
            usage=usage,
        )

    def _write(self, request: Request) -> str:
        with self._lock:
            instruction = f"Instruction {next(self._count)}: {_HEEDED}, then answer."
            self.written.append(instruction)
        listed = _OUTPUTS.search(_head(request))
        if listed is None:  # a bare prompt: GEPA's reflection wants a fenced block
            return f"```\n{instruction}\n```"
        names = _FIELD.findall(listed[1])
        if "JSON object" in (request.messages[-1].text or ""):
            return json.dumps(dict.fromkeys(names, instruction))
        advice = json.dumps({"extract": instruction, "write": instruction})
        parts = [f"[[ ## {name} ## ]]\n{advice if name == 'module_advice' else instruction}" for name in names]
        return "\n\n".join([*parts, "[[ ## completed ## ]]"])


def _head(request: Request) -> str:
    system = request.system
    return system if isinstance(system, str) else "".join(part.text for part in system or ())


def _cut(text: str) -> str:
    head, _, answer = text.partition("[[ ## answer ## ]]\n")
    return f"{head}[[ ## answer ## ]]\n{' '.join(answer.split()[:25])}\n\n[[ ## completed ## ]]"
