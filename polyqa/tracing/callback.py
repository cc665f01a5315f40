"""The callback that makes spans: MLflow's own for DSPy, with the names, searches and tokens that polyqa knows."""

from typing import Any

import dspy
from mlflow.dspy.callback import MlflowCallback
from mlflow.entities import Document, SpanType
from mlflow.tracing.constant import SpanAttributeKey, TokenUsageKey

from polyqa.base.keys import without_keys
from polyqa.base.values import Passage
from polyqa.lm.assigned import without_secrets
from polyqa.lm.recorder import Usage
from polyqa.programs.spans import Rerank, Retrieve


class PolyqaCallback(MlflowCallback):
    """Makes spans of programs, predictors, calls of language models, searches and reranking.

    A predictor's span has its name in the program, a call's that of the language model, a search's outputs are
    documents with ids and scores, and the first span has the tokens of all calls. How a prompt is put together is no
    span: the call shows its messages.
    """

    def __init__(self) -> None:
        super().__init__()
        self._names: dict[int, str] = {}

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """Begin a span."""
        if isinstance(instance, dspy.Module) and not isinstance(instance, dspy.Predict):
            self._names |= {id(one): name for name, one in instance.named_predictors()}
        named = {Retrieve: "search", Rerank: "rerank"}.get(type(instance), type(instance).__name__)
        self._call_id_to_module[call_id] = instance
        self._start_span(
            call_id,
            name=self._names.get(id(instance), named),
            span_type=self._get_span_type_for_module(instance),  # type: ignore[arg-type]  # a str enumeration
            inputs={name: _plain(value) for name, value in self._unpack_kwargs(inputs).items() if name != "args"},
            attributes=self._get_span_attribute_for_module(instance),
        )

    def on_module_end(self, call_id: str, outputs: Any, exception: Exception | None = None) -> None:
        """End it."""
        self._call_id_to_module.pop(call_id, None)
        begun = self._call_id_to_span.get(call_id)
        first = begun is not None and begun.span.parent_id is None
        given = dict(outputs.items()) if isinstance(outputs, dspy.Prediction) else outputs
        self._end_span(call_id, _plain(given), exception, _tokens() if first else {})

    def _end_span(
        self,
        call_id: str,
        outputs: Any | None,
        exception: Exception | None = None,
        attributes: dict[str, Any] | None = None,
    ) -> None:
        told = None if exception is None else _without_keys(exception)
        super()._end_span(call_id, outputs, told, attributes)

    def _start_span(
        self, call_id: str, name: str, span_type: SpanType, inputs: dict[str, Any], attributes: dict[str, Any]
    ) -> Any:
        # MLflow names a call after the class of the language model; a predictor has no model among its attributes.
        named = attributes.get("model", name)
        return super()._start_span(call_id, named, span_type, without_secrets(inputs), without_secrets(attributes))

    def on_adapter_format_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """Pass over what a call's messages show."""

    def on_adapter_format_end(self, call_id: str, outputs: Any, exception: Exception | None = None) -> None:
        """Pass over it."""

    def _get_span_type_for_module(self, instance: Any) -> str:
        if isinstance(instance, Rerank):
            return str(SpanType.RERANKER)
        return str(super()._get_span_type_for_module(instance))


def make_callback() -> PolyqaCallback:
    """Return a callback for `dspy.context`."""
    return PolyqaCallback()


def _tokens() -> dict[str, Any]:
    """Return the tokens of the question that ends, which `polyqa.lm.recorder` counts."""
    usage = dspy.settings.usage_tracker
    if not isinstance(usage, Usage):
        return {}
    total = usage.input_tokens + usage.output_tokens
    return {
        SpanAttributeKey.CHAT_USAGE: {
            TokenUsageKey.INPUT_TOKENS: usage.input_tokens,
            TokenUsageKey.OUTPUT_TOKENS: usage.output_tokens,
            TokenUsageKey.TOTAL_TOKENS: total,
        }
    }


def _without_keys(error: Exception) -> Exception:
    """Return an error of the same name whose text holds no key; providers repeat the key that they refuse."""
    told: Exception = type(type(error).__name__, (Exception,), {})(without_keys(str(error)))
    return told.with_traceback(error.__traceback__)


def _plain(value: Any) -> Any:
    """Return passages as MLflow's documents, arrays as lists, anything else as it is."""
    if isinstance(value, Passage):
        metadata = {"doc_uri": value.title, "score": float(value.score)}
        return Document(page_content=value.text, metadata=metadata, id=value.pid).to_dict()
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value.tolist() if hasattr(value, "tolist") else value
