"""What happens while a question is answered, told step by step."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import dspy

from polyqa.base.values import Passage, json_data
from polyqa.lm.calls import kind_of
from polyqa.lm.recorder import Ended, Listener, Started
from polyqa.programs.spans import Rerank, Retrieve

Emit = Callable[[str, Mapping[str, Any]], None]
"""Is told the name of an event and its data; may be called in any thread."""

_MOST_PASSAGES = 20


class Watch(Listener):
    """Tells the steps of one question as they end, as events ``step``; for `polyqa.lm.recorder.listening`."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._began = time.perf_counter()
        self._number = 0
        self._lock = threading.Lock()

    def module_ended(self, event: Ended) -> None:
        """Tell a step that has ended, unless its reply turned out not to be needed."""
        start, error = event.start, event.error
        if isinstance(start.instance, Retrieve):
            name, kind, title = "search", "passages", "Passages found"
        elif isinstance(start.instance, Rerank):
            name, kind, title = "rerank", "passages", "Passages compared"
        elif start.predictor:
            name, call = start.predictor, kind_of(start.instance.signature)
            # A signature may be none of polyqa's.
            kind, title = (call.topic, call.title) if call else ("other", name.replace("_", " ").capitalize())
        else:
            return
        if error is not None and not isinstance(error, Exception):
            return
        with self._lock:
            self._number += 1
            step: dict[str, Any] = {
                "number": self._number,
                "kind": kind,
                "name": name,
                "title": title,
                "seconds": round(event.seconds, 3),
                "at": round(time.perf_counter() - self._began, 3),
            }
            if error is not None:
                step |= {"data": {}, "failed": "The reply could not be had or read."}
            else:
                step["data"] = _passages(start, event.outputs) if kind == "passages" else _fields(event.outputs)
            self._emit("step", step)


class Tokens:
    """Tells what a language model writes, as it is written; for ``dspy.context(send_stream=…)``.

    An event ``writing`` has the name of the program's predictor and the next piece of its reply.
    """

    def __init__(self, emit: Emit, program: dspy.Module) -> None:
        self._emit = emit
        self._names = {id(predictor): name for name, predictor in program.named_predictors()}

    async def send(self, chunk: Any) -> None:
        """Tell a piece of a reply; what DSPy sends of other kinds is none."""
        choices = getattr(chunk, "choices", None)
        text = choices[0].delta.content if choices else None
        if text:
            self._emit("writing", {"name": self._names.get(getattr(chunk, "predict_id", 0), ""), "text": text})


def _fields(outputs: Any) -> dict[str, Any]:
    return dict(json_data(dict(outputs.items()))) if hasattr(outputs, "items") else {}


def _passages(start: Started, outputs: Any) -> dict[str, Any]:
    queries = start.inputs.get("queries", [start.inputs.get("query", "")])
    ranked = isinstance(outputs, Sequence) and all(isinstance(passage, Passage) for passage in outputs)
    passages: Sequence[Passage] = outputs if ranked else start.inputs.get("passages", ())
    best = [
        {"pid": passage.pid, "title": passage.title, "score": round(float(passage.score), 4)}
        for passage in (outputs[:_MOST_PASSAGES] if ranked else ())
    ]
    return {"query": " · ".join(map(str, queries)), "passages": best, "found": len(passages)}
