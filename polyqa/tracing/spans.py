"""Spans of programs, predictors, calls of language models, searches and reranking, as MLflow knows them."""

from collections.abc import Mapping
from typing import Any

import dspy
from mlflow import get_current_active_span, start_span_no_context
from mlflow.entities import Document, SpanEvent, SpanStatusCode, SpanType
from mlflow.tracing.constant import SpanAttributeKey, TokenUsageKey
from mlflow.tracing.provider import detach_span_from_context, set_span_in_context

from polyqa.base.keys import without_keys
from polyqa.base.values import Passage
from polyqa.lm.assigned import without_secrets
from polyqa.lm.recorder import Ended, Listener, Started, usage_here
from polyqa.programs.spans import Rerank, Retrieve


class Spans(Listener):
    """Makes spans.

    A predictor's span has its name in the program, a call's that of the language model, a search's outputs are
    documents with ids and scores, and the first span has the tokens of all calls. Without the id of an experiment
    traces go to MLflow's current one.
    """

    def __init__(self, experiment: str | None) -> None:
        self._experiment = experiment
        self._open: dict[str, tuple[Any, Any]] = {}  # span and token of the context, by the id of the call

    def module_started(self, event: Started) -> None:
        """Begin a span."""
        module = event.instance
        name, kind = event.predictor or type(module).__name__, SpanType.CHAIN
        attributes = {}
        if isinstance(module, Retrieve):
            name, kind = "search", SpanType.RETRIEVER
        elif isinstance(module, Rerank):
            name, kind = "rerank", SpanType.RERANKER
        elif isinstance(module, dspy.Predict):
            kind, attributes = SpanType.LLM, {"signature": module.signature.signature}
        self._begin(event, name, kind, attributes)

    def call_started(self, event: Started) -> None:
        """Begin a span."""
        lm = event.instance
        attributes = {
            **lm.kwargs,
            "model": lm.model,
            "model_type": lm.model_type,
            "cache": lm.cache,
            SpanAttributeKey.MESSAGE_FORMAT: "dspy",
            SpanAttributeKey.MODEL: lm.model,
            SpanAttributeKey.MODEL_PROVIDER: lm.model.split("/", 1)[0],
        }
        self._begin(event, lm.model, SpanType.CHAT_MODEL if lm.model_type == "chat" else SpanType.LLM, attributes)

    def _begin(self, event: Started, name: str, kind: str, attributes: Mapping[str, Any]) -> None:
        inputs = {name: value for name, value in event.inputs.items() if name not in ("args", "kwargs")}
        inputs |= event.inputs.get("kwargs") or {}
        parent = get_current_active_span()
        span = start_span_no_context(
            name,
            kind,
            parent_span=parent,
            inputs={name: _plain(value) for name, value in without_secrets(inputs).items()},
            attributes=without_secrets(attributes),
            experiment_id=self._experiment if parent is None else None,
        )
        self._open[event.id] = (span, set_span_in_context(span))

    def call_ended(self, event: Ended) -> None:
        """End a span."""
        if (begun := self._open.pop(event.start.id, None)) is None:
            return
        span, token = begun
        try:
            if event.error is not None:
                span.add_event(SpanEvent.from_exception(_without_keys(event.error)))
            if span.parent_id is None:
                span.set_attributes(_tokens())
            outputs = dict(event.outputs.items()) if isinstance(event.outputs, dspy.Prediction) else event.outputs
            span.end(_plain(outputs), status=SpanStatusCode.OK if event.error is None else SpanStatusCode.ERROR)
        finally:
            detach_span_from_context(token)

    module_ended = call_ended


def _tokens() -> dict[str, Any]:
    """Return the tokens of the question that ends, which `polyqa.lm.recorder` counts."""
    usage = usage_here()
    if usage is None:
        return {}
    counts = {
        TokenUsageKey.INPUT_TOKENS: usage.input_tokens,
        TokenUsageKey.OUTPUT_TOKENS: usage.output_tokens,
        TokenUsageKey.TOTAL_TOKENS: usage.input_tokens + usage.output_tokens,
    }
    return {SpanAttributeKey.CHAT_USAGE: counts}


def _without_keys(error: BaseException) -> Exception:
    """Return an error of the same name whose text holds no key; providers repeat the key that they refuse."""
    clean: Exception = type(type(error).__name__, (Exception,), {})(without_keys(str(error)))
    return clean.with_traceback(error.__traceback__)


def _plain(value: Any) -> Any:
    """Return passages as MLflow's documents, arrays as lists, anything else as it is."""
    if isinstance(value, Passage):
        metadata = {"doc_uri": value.title, "score": float(value.score)}
        return Document(page_content=value.text, metadata=metadata, id=value.pid).to_dict()
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value
