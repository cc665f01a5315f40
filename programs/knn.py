"""kNN demo selection that survives saving.

`dspy.KNNFewShot` replaces a program's ``forward`` by a closure: saved as JSON it holds no demos at
all. Here the demos of a predictor are the whole pool, and each call shows the nearest few of them.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import dspy
import numpy as np

from polyqa.base.errors import PolyqaError
from polyqa.lm.adapter import LeanAdapter
from polyqa.lm.harmless import harmless, quote_back
from polyqa.lm.sampling import NO_SAMPLING, Sampling, sampling_for
from polyqa.metrics.text import normalize_answer
from polyqa.models import Encoder

_FIELD = "question"  # what of an input is compared
LEFT_OUT: ContextVar[frozenset[str]] = ContextVar("polyqa_left_out", default=frozenset())
"""Questions, normalized, of which no `KNNPredict` shows a demo, nor one of what it is itself asked.

Set while a program answers a question of its own training set (`polyqa.optimizers.leave_one_out`), where demos
from its labels would tell the answer; empty, and without effect, at any other time.
"""


class KNNPredict(dspy.Predict):
    """A `dspy.Predict` that shows each call only the demos nearest to its question.

    With ``k=None`` it is a plain predictor: all its demos go into every prompt. Both kinds save as
    plain JSON and load back with identical prompts. What it is given, demos too, goes into the prompt as
    data (`polyqa.lm.harmless`): a passage cannot pass for a part of the prompt.

    Its prompts are those of `LeanAdapter` unless another adapter was configured (``dspy.configure(adapter=…)`` or
    ``dspy.context``). Where one of DSPy's stream listeners follows it they are those of DSPy's ChatAdapter: listeners
    know no other format but DSPy's own.

    Parameters
    ----------
    signature
        What to predict.
    k
        How many demos a call shows (Tree of Clarifications and DIVA: 5), at least 1, or ``None`` for all.
    encoder
        Gives the similarity: cosine between the questions; demos without one are left out. Needed if ``k`` is set,
        also by a loaded state.
    brief
        Whether only one demo is shown with its passages, that with the shortest: it shows how passages are cited, and
        any of the nearest does. The others show what readings and answers look like, which takes a tenth of the
        tokens; without passages they cite none.
    sampling
        Settings such as ``temperature`` that its calls give the language model, see `sampling.sampling_for`.
    probabilities
        Whether the language model is asked for the probabilities of its tokens, where it can tell them.
    examples
        Whether a small language model on this machine is shown the worked examples of the signature while there are no
        demos (`worked_examples.worked_demos`).
    """

    def __init__(
        self,
        signature: str | type[dspy.Signature],
        *,
        k: int | None = None,
        encoder: Encoder | None = None,
        brief: bool = False,
        sampling: Sampling = NO_SAMPLING,
        probabilities: bool = False,
        examples: bool = False,
        **config: Any,
    ) -> None:
        super().__init__(signature, **config)
        self.probabilities = probabilities
        self.examples = examples
        self.sampling = dict(sampling)
        self.encoder = encoder
        self.brief = brief
        self.k: int | None = None
        self.set_k(k)

    def set_k(self, k: int | None) -> None:
        """Change how many demos a call shows.

        Raises
        ------
        ValueError
            If ``k`` is below 1, or is set and there is no encoder to compare with.
        """
        if k is not None and k < 1:
            raise ValueError(f"k must be at least 1 or None, got {k}")
        if k is not None and self.encoder is None:
            raise ValueError("kNN demos need an encoder: pass encoder= to the program")
        self.k = k

    def nearest(self, text: str) -> list[Any]:
        """Return the ``k`` demos nearest to a text, the nearest last; all of them if ``k`` is ``None``.

        Demos of equal similarity keep the pool's order. Those of `LEFT_OUT` are not among them.
        """
        allowed = self._allowed(text)
        if self.k is None or self.encoder is None:
            return allowed
        pool = [demo for demo in allowed if demo.get(_FIELD)]
        (similarities,) = self.encoder.similarity([text], [str(demo[_FIELD]) for demo in pool])
        order = np.argsort(-similarities, kind="stable")[: self.k]
        return [pool[index] for index in sorted(order, key=lambda index: (similarities[index], index))]

    def _allowed(self, text: str) -> list[Any]:
        left_out = LEFT_OUT.get()
        if not left_out:
            return list(self.demos)
        left_out |= {normalize_answer(text)}
        return [
            demo for demo in self.demos if not demo.get(_FIELD) or normalize_answer(str(demo[_FIELD])) not in left_out
        ]

    def _arguments(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of `dspy.Predict` for a call: its inputs as data, with demos and sampling settings."""
        lm = kwargs.get("lm") or self.lm or dspy.settings.lm
        demos = kwargs.get("demos")
        if demos is None:
            if self.examples and not self.demos and getattr(lm, "takes_grammar", False):
                from .worked_examples import worked_demos  # few language models need them

                demos = worked_demos(self.signature)
            else:
                demos = self._shown(str(kwargs.get(_FIELD, "")))
        sampling = sampling_for(lm, self.sampling)
        if self.probabilities:
            from polyqa.lm.probabilities import ASKED, gives_probabilities  # few predictors ask for them

            if gives_probabilities(lm):
                sampling |= ASKED
        config = {"config": {**sampling, **kwargs.get("config", {})}} if sampling else {}
        arguments: dict[str, Any] = harmless({**kwargs, **config, "demos": demos})
        return arguments

    def _shown(self, text: str) -> list[Any]:
        demos = self.nearest(text)
        if not self.brief:
            return demos
        full = _shortest(demos)
        return [demo if place == full else without_passages(demo) for place, demo in enumerate(demos)]

    if TYPE_CHECKING:  # DSPy's modules are called through a metaclass that type checkers do not see

        def __call__(self, **kwargs: Any) -> dspy.Prediction:
            """See `forward`."""

    def forward(self, **kwargs: Any) -> dspy.Prediction:
        """Predict with the nearest demos; ``demos=`` overrides them for this call."""
        with self._adapter():
            return quote_back(super().forward(**self._arguments(kwargs)))

    async def aforward(self, **kwargs: Any) -> dspy.Prediction:
        """See `forward`."""
        with self._adapter():
            return quote_back(await super().aforward(**self._arguments(kwargs)))

    def _adapter(self) -> AbstractContextManager[object]:
        """Return a context in which the lean adapter is used, unless another was configured or is needed."""
        if dspy.settings.adapter is not None or (dspy.settings.stream_listeners and self._should_stream()):
            return nullcontext()
        return dspy.context(adapter=LeanAdapter())

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:
        """Return DSPy's state with the kNN settings beside it."""
        state: dict[str, Any] = super().dump_state(json_mode=json_mode)
        knn = None if self.k is None else {"k": self.k, "field": _FIELD, "encoder": self._encoder_name()}
        return {**state, "knn": knn}

    def load_state(self, state: Mapping[str, Any], *, allow_unsafe_lm_state: bool = False) -> "KNNPredict":
        """Restore what `dump_state` returned.

        Raises
        ------
        PolyqaError
            If the state was made with another encoder: its demos would be picked differently.
        """
        knn = state.get("knn")
        if knn is not None and knn["encoder"] != self._encoder_name():
            raise PolyqaError(
                f"The saved program picks its demos with the encoder {knn['encoder']}, this one has "
                f"{self._encoder_name() or 'none'}; load it with that encoder."
            )
        plain = {name: value for name, value in state.items() if name != "knn"}
        super().load_state(plain, allow_unsafe_lm_state=allow_unsafe_lm_state)
        self.set_k(knn["k"] if knn is not None else None)
        return self

    def _encoder_name(self) -> str | None:
        return self.encoder.name if self.encoder is not None else None


def without_passages(demo: Mapping[str, Any]) -> dict[str, Any]:
    """Return a demo without its passages, and without the numbers by which they are cited.

    >>> without_passages({"passages": ["A | B."], "question": "Who?", "interpretations": [{"answer": "B", "pid": "1"}]})
    {'question': 'Who?', 'interpretations': [{'answer': 'B'}]}
    """
    bare = {name: value for name, value in demo.items() if name not in ("passages", "source")}
    readings = bare.get("interpretations")
    if isinstance(readings, (list, tuple)):
        bare["interpretations"] = [
            {name: value for name, value in dict(reading).items() if name != "pid"} for reading in readings
        ]
    return bare


def _shortest(demos: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the place of the demo with the shortest passages, the last of several; ``None`` if none has passages."""
    lengths = {place: sum(map(len, demo["passages"])) for place, demo in enumerate(demos) if demo.get("passages")}
    return min(reversed(lengths), key=lambda place: lengths[place], default=None)


def set_knn_demos(program: dspy.Module, pools: Mapping[str, Sequence[Mapping[str, Any]]], k: int | None) -> None:
    """Give the predictors of a program their pools of demos.

    Parameters
    ----------
    program
        Its predictors are `KNNPredict`, or, if ``k`` is ``None``, any `dspy.Predict`.
    pools
        Predictor name to demos: mappings or `dspy.Example`. Only the fields of the predictor's signature are kept, so
        gold labels and other data of an example never get into a prompt or a saved program; a demo that has no input
        or no output of this predictor is left out.
    k
        Demos per call, see `KNNPredict`.

    Raises
    ------
    PolyqaError
        If a name is not a predictor of the program, or one that cannot pick demos by similarity, or none of its demos
        can be shown; the program is unchanged then.
    """
    predictors = dict(program.named_predictors())
    if unknown := sorted(set(pools) - set(predictors)):
        raise PolyqaError(f"{type(program).__name__} has no predictor {unknown[0]!r}; it has {', '.join(predictors)}.")
    if k is not None:
        check_picking(program, pools)
    usable = {
        name: _usable(f"{type(program).__name__}.{name}", predictors[name].signature, pool)
        for name, pool in pools.items()
    }
    for name, demos in usable.items():
        predictors[name].demos = demos
        if isinstance(predictors[name], KNNPredict):
            predictors[name].set_k(k)


def _usable(name: str, signature: type[dspy.Signature], pool: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what of the demos a predictor can show."""
    inputs, outputs = signature.input_fields, signature.output_fields
    demos = []
    for example in pool:
        fields = example if hasattr(example, "get") else {}  # what is no example and no mapping has no fields
        demo = {field: value for field in (*inputs, *outputs) if (value := fields.get(field)) is not None}
        if inputs.keys() & demo.keys() and outputs.keys() & demo.keys():
            demos.append(demo)
    if pool and not demos:
        raise PolyqaError(
            f"{name} can show none of its {len(pool)} demos: a demo has some of {', '.join(inputs)}, and of "
            f"{', '.join(outputs)}; the recipe 'labeled-few-shot' of polyqa.compile makes demos of labelled questions."
        )
    return demos


def check_picking(program: dspy.Module, names: Collection[str]) -> None:
    """Check that predictors of a program can pick their demos by similarity.

    Raises
    ------
    PolyqaError
        With the name of one that cannot.
    """
    for name, predictor in program.named_predictors():
        if name in names and (not isinstance(predictor, KNNPredict) or predictor.encoder is None):
            lacks = "has no encoder" if isinstance(predictor, KNNPredict) else f"is a {type(predictor).__name__}"
            raise PolyqaError(
                f"{type(program).__name__}.{name} {lacks}, so it cannot pick the nearest demos: make it a "
                "programs.KNNPredict with encoder=, or take demos that are the same for every question (k=None)."
            )
