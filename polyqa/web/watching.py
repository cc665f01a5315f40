"""What happens while a question is answered, told step by step, from the callbacks of DSPy."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dspy
from dspy.utils.callback import BaseCallback
from pydantic_core import to_jsonable_python

from polyqa.base.values import Passage
from polyqa.lm.calls import kind_of
from polyqa.programs.spans import Rerank, Retrieve

Emit = Callable[[str, Mapping[str, Any]], None]
"""Is told the name of an event and its data; may be called in any thread."""

_MOST_PASSAGES = 20


@dataclass
class _Open:
    """A call that is under way."""

    name: str
    kind: str
    title: str
    began: float
    inputs: Mapping[str, Any]


class Watch(BaseCallback):
    """Tells the steps of one question as they end; a callback of DSPy's, for one question.

    Parameters
    ----------
    program
        Whose predictors have names.
    emit
        Is told an event ``step`` for each step.
    """

    def __init__(self, program: dspy.Module, emit: Emit) -> None:
        self._emit = emit
        self._names = {id(predictor): name for name, predictor in program.named_predictors()}
        self._open: dict[str, _Open] = {}
        self._began = time.perf_counter()
        self._number = 0
        self._lock = threading.Lock()

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """Keep when a step began."""
        if isinstance(instance, (Retrieve, Rerank)):
            search = isinstance(instance, Retrieve)
            title = "Passages found" if search else "Passages compared"
            begun = _Open("search" if search else "rerank", "passages", title, time.perf_counter(), inputs)
        elif id(instance) in self._names:
            kind, title = _kind(instance.signature)
            title = title or self._names[id(instance)].replace("_", " ").capitalize()
            begun = _Open(self._names[id(instance)], kind, title, time.perf_counter(), {})
        else:
            return
        with self._lock:
            self._open[call_id] = begun

    def on_module_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        """Tell a step that has ended, unless its reply turned out not to be needed."""
        with self._lock:
            begun = self._open.pop(call_id, None)
            if begun is None or (exception is not None and not isinstance(exception, Exception)):
                return
            self._number += 1
            now = time.perf_counter()
            step: dict[str, Any] = {
                "number": self._number,
                "kind": begun.kind,
                "name": begun.name,
                "title": begun.title,
                "seconds": round(now - begun.began, 3),
                "at": round(now - self._began, 3),
                "data": {} if exception is not None else _data(begun, outputs),
            }
            if exception is not None:
                step["failed"] = "The reply could not be had or read; it is asked for again."
            self._emit("step", step)


def _kind(signature: type[dspy.Signature]) -> tuple[str, str]:
    """Return the kind of a predictor's step and its title; no title if the signature is none of polyqa's."""
    call = kind_of(signature)
    return (call.topic, call.title) if call is not None else ("other", "")


def _data(begun: _Open, outputs: Any) -> dict[str, Any]:
    if begun.kind != "passages":
        return dict(to_jsonable_python(dict(outputs.items()), fallback=str)) if hasattr(outputs, "items") else {}
    queries = begun.inputs.get("queries", [begun.inputs.get("query", "")])
    ranked = isinstance(outputs, Sequence) and all(isinstance(one, Passage) for one in outputs)
    found: Sequence[Passage] = outputs if ranked else begun.inputs.get("passages", ())
    shown = [
        {"pid": one.pid, "title": one.title, **({"score": round(float(one.score), 4)} if ranked else {})}
        for one in found[:_MOST_PASSAGES]
    ]
    return {"query": " · ".join(map(str, queries)), "passages": shown if ranked else [], "found": len(found)}
