"""Grammars of replies: a small model on this machine can write nothing but a reply in the lean form.

The grammar is llama.cpp's (GBNF). It is made of a signature and the inputs of a call, since only passages that exist
may be cited. Hosted models get none: their prompts ask for text, and `dspy.JSONAdapter` asks those that can for
structured output.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args, get_origin

import dspy
from pydantic.fields import FieldInfo

from polyqa import replies as lenient
from polyqa.base.values import AmbiguityType, Grade, Support

from .fields import NOTHING, is_text

_READINGS = 6  # in a reply
_LISTED = 10  # answers in a reply
_SHARED = {
    "wording": r"[^|\n ] [^|\n]{7,199}",
    "answer": r"[^|\n\[ ] [^|\n\[]{0,99}",
    "paragraph": r"[^#\n] [^\n]{0,799}",
}
_PARAGRAPHS = 4
_BREAK = r"\n"
_LINES: Mapping[str, int] = {  # characters of texts that are short by nature
    "short_answer": 100,
    "source": 10,
    "search_query": 120,
    "relaxed_query": 200,
    "interpretation": 200,
    "reason": 400,
}
_NUMBERED = ("findings", "candidates", "passages", "interpretations")
"""Inputs whose items have numbers; the first that a call has is what its reply names."""


def reply_grammar(signature: type[dspy.Signature], inputs: Mapping[str, Any]) -> str | None:
    """Return the grammar of the replies to a call, ``None`` if a field has a type without a rule.

    Parameters
    ----------
    signature, inputs
        Of the call.

    Notes
    -----
    Every reply of the grammar is read by `polyqa.lm.adapter.LeanAdapter`, and is as that writes it in a demo. Of
    findings each gets its line, of other passages there are at most six readings, or none.
    """
    values = [(name, _value(name, field, inputs)) for name, field in signature.output_fields.items()]
    rules = []
    for _, value in values:
        if value is None:
            return None
        rules.append(value)
    # llama.cpp counts what is repeated in repetitions, and refuses thousands; a rule with a name counts once.
    shared = [f"{name} ::= {rule}" for name, rule in _SHARED.items() if any(name in value for value in rules)]
    if len(rules) == 1:
        return "\n".join([f"root ::= {rules[0]}", *shared, ""])
    blank = r"\n\n"
    parts = [rf'"{blank if at else ""}## {name}\n" part{at}' for at, (name, _) in enumerate(values)]
    return "\n".join(
        [f"root ::= {' '.join(parts)}", *(f"part{at} ::= {rule}" for at, rule in enumerate(rules)), *shared, ""]
    )


def _value(name: str, field: FieldInfo, inputs: Mapping[str, Any]) -> str | None:
    """Return the right side of the rule of a field's value."""
    annotation: Any = field.annotation
    if isinstance(annotation, type) and annotation in _RULES:
        return _RULES[annotation](inputs)
    if is_text(annotation):
        if name in _LINES:
            return rf"[^\n ] [^\n]{{0,{_LINES[name] - 1}}}"
        return rf'paragraph ("\n" "\n"? paragraph){{0,{_PARAGRAPHS - 1}}}'
    if annotation is int:
        return "[0-9]{1,4}"
    if annotation is bool:
        return _one_of(["True", "False"])
    if get_origin(annotation) is Literal and all(isinstance(label, str) for label in get_args(annotation)):
        return _one_of(get_args(annotation))
    return None


def _one_of(labels: Sequence[str]) -> str:
    return " | ".join(f'"{_escaped(label)}"' for label in labels)


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _count(inputs: Mapping[str, Any]) -> int:
    """Return how many numbered items a call shows."""
    shown = next((inputs[name] for name in _NUMBERED if inputs.get(name) is not None), ())
    return len([line for line in shown.splitlines() if line.strip()] if isinstance(shown, str) else shown)


def _some(items: Sequence[str], between: str) -> str:
    """Return a rule for the first items, at least one: each only after the one before it."""
    rule = ""
    for item in reversed(items[1:]):
        rule = f' ("{between}" {item}{rule})?'
    return f"{items[0]}{rule}"


def _readings(inputs: Mapping[str, Any], *, cited: bool = True) -> str:
    count = _count(inputs) if cited else 0
    if "findings" in inputs:
        lines = [f'"{number}. " wording " | " answer " [{number}]"' for number in range(1, count + 1)]
        return r' "\n" '.join(lines) or f'"{NOTHING}"'
    numbers = f' " [" ({_one_of([str(number) for number in range(1, count + 1)])}) "]"' if count else ""
    lines = [f'"{number}. " wording " | " answer{numbers}' for number in range(1, _READINGS + 1)]
    return f'"{NOTHING}" | {_some(lines, _BREAK)}'


def _numbers(inputs: Mapping[str, Any]) -> str:
    count = _count(inputs)
    if not count:
        return f'"{NOTHING}"'
    number = f"({_one_of([str(one) for one in range(1, count + 1)])})"
    return f'"{NOTHING}" | {number} (", " {number}){{0,{count - 1}}}'


_KIND = f"({_one_of([str(kind) for kind in AmbiguityType if kind is not AmbiguityType.NONE])})"
_RULES: Mapping[Any, Callable[[Mapping[str, Any]], str]] = {
    lenient.Interpretations: _readings,
    lenient.Readings: lambda inputs: _readings(inputs, cited=False),
    lenient.Questions: lambda inputs: _some(
        [rf'"{number}. " [^\n? ] [^\n?]{{7,199}} "?"' for number in range(1, _READINGS + 1)], _BREAK
    ),
    lenient.Answers: lambda inputs: (
        rf'"{NOTHING}" | [^\n ] [^\n]{{0,99}} ("\n" [^\n ] [^\n]{{0,99}}){{0,{_LISTED - 1}}}'
    ),
    lenient.YesNo: lambda inputs: _one_of(["Yes", "No"]),
    lenient.AmbiguityTypes: lambda inputs: f'"{AmbiguityType.NONE}" | {_KIND} (", " {_KIND}){{0,2}}',
    lenient.Numbers: _numbers,
    lenient.Grades: lambda inputs: _one_of([str(grade) for grade in Grade]),
    lenient.Supports: lambda inputs: _one_of([str(level) for level in Support]),
    lenient.Usefulness: lambda inputs: "[1-5]",
}
