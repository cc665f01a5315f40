"""Why a question is answered so: which demos its predictors see."""

from typing import Any

import dspy

from polyqa.programs.knn import KNNPredict


def picked_demos(program: dspy.Module, question: str) -> dict[str, list[dict[str, Any]]]:
    """Return per predictor the demos that a question would be shown, in the order of the prompt.

    Each has ``question``, its ``similarity`` (cosine, ``None`` where demos are not picked by it) and the
    other ``fields``. A predictor that is asked about something else than the question, such as a
    pseudo-interpretation, picks for that; its row here is for the question itself.
    """
    picked: dict[str, list[dict[str, Any]]] = {}
    for name, predictor in program.named_predictors():
        by_similarity = isinstance(predictor, KNNPredict) and predictor.k is not None
        demos = predictor.nearest(question) if isinstance(predictor, KNNPredict) else list(predictor.demos)
        similarities: list[float | None] = [None] * len(demos)
        if by_similarity and demos:
            asked = [str(demo[predictor.field]) for demo in demos]
            similarities = [float(value) for value in predictor.encoder.similarity([question], asked)[0]]
        fields = predictor.signature.fields
        picked[name] = [
            {
                "question": demo.get("question"),
                "similarity": similarity,
                "fields": {field: _plain(demo[field]) for field in fields if demo.get(field) is not None},
            }
            for demo, similarity in zip(demos, similarities, strict=True)
        ]
    return picked


def _plain(value: Any) -> Any:
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(value, fallback=str)
