"""What of a compiled program is saved: instructions, field wordings, demos and kNN settings. Nothing else.

DSPy's own ``load_state`` sets every key that it finds as an attribute and can bring a language model with
an address of its own. Here a state is checked against a strict schema first, so that a file from anywhere
can change what a prompt says and nothing more.
"""

import copy
import hashlib
import json
import warnings
from collections.abc import Mapping
from typing import Annotated, Any

import dspy
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from polyqa.base.errors import PolyqaError
from polyqa.base.text import well_formed
from polyqa.base.values import json_data
from polyqa.programs.knn import KNNPredict

_NAMED = 5  # fields in a warning
_Text = Annotated[str, Field(max_length=200_000)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class SavedField(_Strict):
    """The wording of one field of a signature."""

    prefix: _Text
    description: _Text


class SavedSignature(_Strict):
    """Instructions and field wordings, in the signature's order."""

    instructions: _Text
    fields: list[SavedField]


class SavedKNN(_Strict):
    """How demos are picked, see `knn.KNNPredict`."""

    k: Annotated[int, Field(ge=1, le=1_000)]
    field: Annotated[str, Field(max_length=200)]
    encoder: Annotated[str, Field(max_length=500)]


class SavedPredictor(_Strict):
    """The state of one predictor."""

    signature: SavedSignature
    demos: list[dict[str, JsonValue]]
    knn: SavedKNN | None = None


def signature_fingerprint(signature: type[dspy.Signature]) -> str:
    """Return 16 hex digits over a signature's fields: names, order, input or output, type.

    Wordings are left out, as optimizers change them. DSPy restores wordings by position, so a state may
    only go into a signature of the same fingerprint.
    """
    fields = [
        [name, "in" if name in signature.input_fields else "out", getattr(kind, "__name__", str(kind))]
        for name, kind in ((name, field.annotation) for name, field in signature.fields.items())
    ]
    return hashlib.sha256(json.dumps(fields).encode()).hexdigest()[:16]


def signature_fingerprints(program: dspy.Module) -> dict[str, str]:
    """Return the fingerprint of every predictor's signature."""
    return {name: signature_fingerprint(predictor.signature) for name, predictor in program.named_predictors()}


def dump_program(program: dspy.Module) -> dict[str, Any]:
    """Return the state of a program as JSON data: per predictor its signature's wordings, demos, kNN.

    Demos keep only the fields of their predictor's signature: no gold labels, no metadata. A language
    model that is set on a predictor is not saved. Half a character, which no file takes, becomes U+FFFD.
    """
    state = {}
    for name, predictor in program.named_predictors():
        bare = copy.copy(predictor)
        bare.lm = None  # it would be dumped with what it is asked with, and one that cannot be is an error
        dumped = bare.dump_state()
        fields = predictor.signature.fields
        demos = [
            {field: json_data(demo[field]) for field in fields if demo.get(field) is not None}
            for demo in dumped["demos"]
        ]
        state[name] = {"signature": dumped["signature"], "demos": demos, "knn": dumped.get("knn")}
    return dict(json.loads(well_formed(json.dumps(state, ensure_ascii=False))))


def program_hash(program: dspy.Module) -> str:
    """Return 16 hex digits over a program's saved state."""
    text = json.dumps(dump_program(program), sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def load_program(program: dspy.Module, data: Any, where: str) -> None:
    """Put a saved state into a program of the same kind.

    Parameters
    ----------
    program
        Its predictors must be those of the state.
    data
        What `dump_program` returned, or what DSPy's ``save`` wrote (whose traces and language model are
        left out).
    where
        Names the source in errors.

    A language model that is set on a predictor stays: no file brings one, and none takes one away.

    Raises
    ------
    PolyqaError
        If the state is of another shape or of another program; the program is unchanged then.
    """
    predictors = dict(program.named_predictors())
    if not isinstance(data, Mapping):
        raise PolyqaError(f"{where}: expected an object with one entry per predictor.")
    saved = {name: state for name, state in data.items() if name != "metadata"}
    kind = type(program).__name__
    if missing := sorted(predictors.keys() - saved.keys()):
        raise PolyqaError(f"{where} is not a saved {kind}: it has nothing for the predictor {', '.join(missing)}.")
    if strange := sorted(saved.keys() - predictors.keys()):
        raise PolyqaError(f"{where} is not a saved {kind}, which has no predictor {strange[0]!r:.80}.")
    checked = {name: _checked(name, saved[name], predictors[name], where) for name in predictors}
    for name, predictor in predictors.items():
        read, lm = checked[name], predictor.lm
        state = {
            "traces": [],
            "train": [],
            "lm": None,
            "demos": read.demos,
            "signature": read.signature.model_dump(),
        }
        if isinstance(predictor, KNNPredict):
            state["knn"] = read.knn.model_dump() if read.knn else None
        predictor.load_state(state)
        predictor.lm = lm


def _checked(name: str, data: Any, predictor: dspy.Predict, where: str) -> SavedPredictor:
    if isinstance(data, Mapping):  # what DSPy's save writes besides
        data = {key: value for key, value in data.items() if key not in ("traces", "train", "lm", "config")}
    try:
        read = SavedPredictor.model_validate(data)
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(map(str, problem["loc"]))[:120]
        raise PolyqaError(
            f"{where}: the state of {name} is damaged at {place or 'its top'} ({problem['msg']})."
        ) from error
    fields = predictor.signature.fields
    if len(read.signature.fields) != len(fields):
        raise PolyqaError(f"{where}: the signature of {name} has changed since it was saved; compile it again.")
    strange = sorted({key for demo in read.demos for key in demo} - fields.keys() - {"augmented"})
    if strange:  # such as ``gold``, which DSPy's optimizers save with the rest of a training example
        names = ", ".join(f"{key!r:.40}" for key in strange[:_NAMED]) + (", …" if len(strange) > _NAMED else "")
        warnings.warn(
            f"{where}: demos of {name} hold {names}, which its signature lacks; they are left out.", stacklevel=4
        )
    demos = [{key: value for key, value in demo.items() if key in fields} for demo in read.demos]
    if read.knn is not None:
        _check_knn(read.knn, predictor, name, where)
    return read.model_copy(update={"demos": demos})


def _check_knn(knn: SavedKNN, predictor: dspy.Predict, name: str, where: str) -> None:
    if not isinstance(predictor, KNNPredict):
        raise PolyqaError(f"{where}: {name} has kNN settings, but picks no demos by similarity.")
    encoder = predictor.encoder.name if predictor.encoder is not None else "none"
    if knn.encoder != encoder:
        raise PolyqaError(
            f"{where}: the demos of {name} were picked with the encoder {knn.encoder!r:.120}, this program has "
            f"{encoder!r}; load it with that encoder."
        )
    if knn.field not in predictor.signature.input_fields:
        raise PolyqaError(f"{where}: {name} has no input {knn.field!r:.80} to pick demos by.")
