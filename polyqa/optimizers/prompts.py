"""Shows prompts: what a compiled program says, how that differs from another, which demos a question gets."""

import difflib
import json
from collections.abc import Iterable
from typing import Any

import dspy

from polyqa.base.values import json_data
from polyqa.programs import KNNPredict

_LONGEST = 280


def prompt_texts(program: dspy.Module, *, most: int | None = None) -> dict[str, str]:
    """Return each predictor's prompt as text: instructions, fields, how demos are picked, the first ``most`` demos."""
    return {name: _prompt_text(predictor, most) for name, predictor in program.named_predictors()}


def _prompt_text(predictor: dspy.Predict, most: int | None) -> str:
    demos = (demo_text(demo, predictor.signature.fields) for demo in predictor.demos[:most])
    return "\n\n".join([prompt_head(predictor), *demos]).rstrip() + "\n"


def prompt_head(predictor: dspy.Predict) -> str:
    """Return what a predictor's prompt says before its demos: instructions, fields, how many demos are shown."""
    return (
        f"{predictor.signature.instructions}\n\nFields:\n{_fields(predictor)}\n\nDemos shown: {demos_shown(predictor)}"
    )


def _fields(predictor: dspy.Predict) -> str:
    inputs, fields = predictor.signature.input_fields, predictor.signature.fields
    return "\n".join(
        f"- {name} ({'input' if name in inputs else 'output'}): {field.json_schema_extra['desc']}"
        for name, field in fields.items()
    )


def demos_shown(predictor: dspy.Predict) -> str:
    """Return how many demos a prompt shows, and of how many."""
    k = getattr(predictor, "k", None)
    return f"the {k} nearest of {len(predictor.demos)}" if k is not None else f"all {len(predictor.demos)}"


def demo_text(demo: Any, fields: Iterable[str]) -> str:
    """Return a demo, one field a line, long values cut."""
    return "\n".join(f"{name}: {_short(demo[name])}" for name in fields if demo.get(name) is not None)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(json_data(value), ensure_ascii=False)
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def prompt_changes(before: dspy.Module, after: dspy.Module) -> dict[str, str]:
    """Return in a line for each predictor how its prompts differ in two programs."""
    left, right = dict(before.named_predictors()), dict(after.named_predictors())
    return {name: _change(left.get(name), right.get(name)) for name in dict.fromkeys([*left, *right])}


def _change(old: dspy.Predict | None, new: dspy.Predict | None) -> str:
    if old is None or new is None:
        return "only in the first" if new is None else "only in the second"
    changed = [
        *(["other instructions"] if old.signature.instructions != new.signature.instructions else []),
        *(["other fields"] if _fields(old) != _fields(new) else []),
    ]
    counts = demos_shown(old), demos_shown(new)
    if counts[0] != counts[1]:
        changed.append(f"demos: {counts[0]} → {counts[1]}")
    elif _demo_data(old) != _demo_data(new):
        changed.append("other demos")
    return "; ".join(changed) or "unchanged"


def _demo_data(predictor: dspy.Predict) -> list[dict[str, Any]]:
    """Return what of its demos a prompt shows, in full: `demo_text` cuts long values, and two may differ behind."""
    return [_data(demo, predictor.signature.fields) for demo in predictor.demos]


def _data(demo: Any, fields: Iterable[str]) -> dict[str, Any]:
    return {name: json_data(demo[name]) for name in fields if demo.get(name) is not None}


def prompt_diff(before: dspy.Module, after: dspy.Module, *, most: int | None = None) -> str:
    """Return how the prompts of two programs differ, per predictor, as Markdown with unified diffs.

    A predictor that only one of them has is shown against nothing; of its demos the first ``most`` are compared. What
    differs in other demos only, or behind the end of long values, is told in words.
    """
    left, right = prompt_texts(before, most=most), prompt_texts(after, most=most)
    parts = []
    for name, change in prompt_changes(before, after).items():
        old, new = (texts.get(name, "").splitlines() for texts in (left, right))
        diff = "\n".join(difflib.unified_diff(old, new, "before", "after", lineterm="", n=1))
        parts.append(f"### {name}\n\n" + (fenced(diff, "diff") if diff else change))
    return "\n\n".join(parts) + "\n"


def fenced(text: str, language: str = "text") -> str:
    """Return a text as a code block of Markdown, which nothing in it can end."""
    return f"```{language}\n" + text.replace("```", "'''") + "\n```"


def picked_demos(program: dspy.Module, question: str) -> dict[str, list[dict[str, Any]]]:
    """Return per predictor the demos that a question would be shown, in the order of the prompt.

    Each has ``question``, its ``similarity`` (cosine, ``None`` where demos are not picked by it) and the
    other ``fields``. A predictor that is asked about something else than the question, such as a
    pseudo-interpretation, picks for that; its row here is for the question itself.
    """
    picked: dict[str, list[dict[str, Any]]] = {}
    for name, predictor in program.named_predictors():
        demos = predictor.nearest(question) if isinstance(predictor, KNNPredict) else list(predictor.demos)
        similarities: list[float | None] = [None] * len(demos)
        if demos and isinstance(predictor, KNNPredict) and predictor.k is not None and predictor.encoder is not None:
            demo_queries = [str(demo["question"]) for demo in demos]
            similarities = [float(value) for value in predictor.encoder.similarity([question], demo_queries)[0]]
        picked[name] = [
            {
                "question": demo.get("question"),
                "similarity": similarity,
                "fields": _data(demo, predictor.signature.fields),
            }
            for demo, similarity in zip(demos, similarities, strict=True)
        ]
    return picked
